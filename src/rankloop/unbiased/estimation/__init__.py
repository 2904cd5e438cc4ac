"""What corrections and learners share: evidence of a log, held-out clicks, intervals."""
