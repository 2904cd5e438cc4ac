"""Numbered steps from the schema of an earlier rankloop to this one."""

from sqlalchemy import Connection, text, update

from rankloop.serve.events.tables import SCHEMA, schema_version

__all__ = ["STEPS", "migrate"]

# The statements that lead to each schema from the one before it. They are never changed once released.
STEPS: dict[int, tuple[str, ...]] = {
    3: ("ALTER TABLE experiments ADD COLUMN planned INTEGER",),
    4: (
        "ALTER TABLE pages ADD COLUMN origin TEXT",
        "ALTER TABLE forgotten ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0",
    ),
    5: (  # thumbs become judgments: "a good answer" is grade 2 of 3, "a poor answer" is grade 0
        "ALTER TABLE pages ADD COLUMN typed TEXT",
        "ALTER TABLE judgments RENAME TO thumbs",
        "CREATE TABLE judgments (rater TEXT NOT NULL, number INTEGER NOT NULL, query TEXT NOT NULL, "
        "document TEXT NOT NULL, grade DOUBLE PRECISION, reason TEXT NOT NULL, source TEXT NOT NULL, "
        "time DOUBLE PRECISION NOT NULL, PRIMARY KEY (rater, number))",
        "CREATE INDEX judgments_by_query ON judgments (query, document, rater, number)",
        "INSERT INTO judgments (rater, number, query, document, grade, reason, source, time) "
        'SELECT "user", row_number() OVER (PARTITION BY "user" ORDER BY time, query, document), query, '
        "document, CASE WHEN grade = 1 THEN 2 ELSE grade END, '', 'thumb', time FROM thumbs",
        "DROP TABLE thumbs",
    ),
    6: (
        "CREATE TABLE IF NOT EXISTS interventions (id TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, "
        "pattern TEXT NOT NULL, document TEXT NOT NULL, value DOUBLE PRECISION, "
        "time DOUBLE PRECISION NOT NULL, until DOUBLE PRECISION NOT NULL, who TEXT NOT NULL, "
        "reason TEXT NOT NULL)",
        "ALTER TABLE interventions ADD COLUMN field TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE interventions ADD COLUMN wanted TEXT NOT NULL DEFAULT ''",
    ),
}


def migrate(connection: Connection, version: int) -> None:
    """Run every step after `version` in one transaction; `LookupError` where a step is unknown."""
    wanted = range(version + 1, SCHEMA + 1)
    missing = [step for step in wanted if step not in STEPS]
    if missing:
        raise LookupError(f"there is no step to schema {missing[0]}")
    for step in wanted:
        for statement in STEPS[step]:
            connection.execute(text(statement))
    connection.execute(update(schema_version).values(version=SCHEMA))
