"""The team's desk: query sets, judging, comparisons over a set, users, the audit trail."""
