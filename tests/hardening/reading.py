"""Reads one file in a process of its own that has little memory.

python reading.py KIND FILE MEGABYTES: prints "read", or the sentence of the error.
"""

import resource
import sys
from pathlib import Path


def main() -> None:
    kind, path, megabytes = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    import rankloop as rl
    from rankloop.data import convert, open_dataset
    from rankloop.data.files.whole import read_whole
    from rankloop.search import read_documents

    readers = {
        "svmlight": rl.read_svmlight,
        "convert": lambda one: convert(one, one.with_suffix(".set")),
        "qrels": rl.read_qrels,
        "run": rl.read_run,
        "clicks": lambda one: rl.clicks.PBM(iterations=2).fit(rl.read_clicks(one)),
        "log": rl.read_clicks,
        "table": open_dataset,
        "text": read_whole,
        "model": rl.load,
        "documents": lambda one: sum(1 for _ in read_documents(one)),
    }
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        readers[kind](path)
        print("read")
    except ValueError as error:
        print(error)


if __name__ == "__main__":
    main()
