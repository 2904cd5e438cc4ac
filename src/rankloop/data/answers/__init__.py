"""Answers of search engines with the features that they logged."""
