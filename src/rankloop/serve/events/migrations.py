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
    5: ("ALTER TABLE pages ADD COLUMN typed TEXT",),
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
