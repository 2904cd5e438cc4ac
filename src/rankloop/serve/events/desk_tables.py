"""Further tables of the store: versions that learn while they serve, a judge's answers, comparisons."""

from sqlalchemy import Column, Double, Index, Integer, Table, Text

from rankloop.serve.events.tables import metadata, required

__all__ = ["comparison_results", "comparisons", "judge_answers", "learned_pages", "learners", "metadata"]

# Versions that learn while they serve. A run begins when one starts to serve; pages carry its number.
learners = Table(
    "learners",
    metadata,
    Column("version", Text, primary_key=True),
    *required(Integer, "run", "number"),  # number counts changes of the state
    *required(Text, "state"),  # JSON
    *required(Double, "started", "time"),
    Column("stopped", Double),
    *required(Text, "reason"),  # why it was stopped
)

# The pages from which a version has learned: each once.
learned_pages = Table(
    "learned_pages",
    metadata,
    Column("page_id", Text, primary_key=True),
    *required(Text, "version", "person"),
    *required(Double, "time"),  # of the page
    Index("learned_pages_by_person", "version", "person", "time"),
    Index("learned_pages_by_time", "time"),
)

# What a judge by language model answered, by a hash of what it was asked.
judge_answers = Table(
    "judge_answers",
    metadata,
    Column("asked", Text, primary_key=True),
    *required(Text, "model"),
    Column("grade", Double),  # null: unsure
    *required(Text, "reason"),
    *required(Integer, "tokens"),
    Column("time", Double, nullable=False, index=True),
)

# Comparisons of two versions over a set that the service makes again and again.
comparisons = Table(
    "comparisons",
    metadata,
    Column("id", Text, primary_key=True),
    *required(Text, "set", "a", "b", "who"),
    *required(Double, "max_loss", "hours", "time", "next"),
    Column("ended", Double),
)

comparison_results = Table(
    "comparison_results",
    metadata,
    Column("id", Text, primary_key=True),
    *required(Text, "comparison", "state", "message", "content"),  # content is JSON, or empty
    *required(Double, "time"),
    Index("comparison_results_by_time", "comparison", "time"),
)
