"""The warning of curves whose log shows trust in high ranks."""

__all__ = ["TrustWarning"]


class TrustWarning(UserWarning):
    """A curve by rank was estimated although people click high ranks whatever is shown there."""
