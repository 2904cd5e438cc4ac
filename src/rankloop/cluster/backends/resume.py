"""Jobs that write shards, and resume after those that are there."""

from collections.abc import Callable, Mapping
from typing import Any

from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each
from rankloop.data.shards.folder import ShardFolder
from rankloop.data.shards.manifest import Entry
from rankloop.data.shards.shards import Shards

__all__ = ["Written", "resume", "resume_shards"]

Written = tuple[Entry, dict[str, str]]  # what `put_shard` gives


def resume(
    folder: ShardFolder,
    task: Callable[[Any], Written],
    inputs: Mapping[int, Any],
    sizes: Mapping[int, float],
    **options: Any,
) -> None:
    """Run `task` for the shards that the folder lacks; inputs and sizes are by the number of the shard."""
    missing = [number for number in inputs if number not in folder.done]
    over(
        task,
        [inputs[number] for number in missing],
        sizes=[sizes[number] for number in missing],
        done=lambda _, written: folder.add(*written),
        **options,
    )


def resume_shards(
    folder: ShardFolder, task: Callable[[Any], Written], shards: Shards, *arguments: Any, **options: Any
) -> None:
    """The same for a task that turns each shard into one: it gets the shard, the arguments and the folder."""
    numbered = {shard.entries[0].number: shard for shard in each(shards)}
    inputs = {number: (shard, *arguments, folder.store.path) for number, shard in numbered.items()}
    resume(folder, task, inputs, {number: shard.n_rows for number, shard in numbered.items()}, **options)
