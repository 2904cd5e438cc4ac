"""The base class of rankers, and what several of them share."""
