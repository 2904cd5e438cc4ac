"""The embedded index: segments, postings, snapshots, one writer."""
