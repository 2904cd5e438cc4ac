"""The warning of joint fits that should not be trusted."""

__all__ = ["IdentifiabilityWarning"]


class IdentifiabilityWarning(UserWarning):
    """A curve was fitted although the log can hardly separate position from relevance."""
