"""How propensity curves are fitted, and how their intervals are made."""
