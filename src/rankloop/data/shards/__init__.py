"""Data larger than memory: folders of shards, each of whole queries."""
