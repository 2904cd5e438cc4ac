"""How good a ranking is: one value per list."""

__all__: list[str] = []
