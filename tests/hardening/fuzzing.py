"""Reads changed copies of small files in a process of its own, whose memory is bounded.

python -m hardening.fuzzing FOLDER COUNT SEED [KIND ...]: of every kind so many copies of its files, each
with one to three changes. A copy is read, or refused with a ValueError; anything else is printed as
"KIND NUMBER ERROR", and so is a copy that takes long. Before each copy its number is in FOLDER/now: what
ended the process.
"""

import json
import random
import re
import resource
import sys
import time
import warnings
from pathlib import Path

from hardening.damage import changed, rewrite
from hardening.formats import Read, formats
from hardening.kept_formats import kept_formats

MEMORY = 3 << 30  # bytes of address space beyond what is taken at the start
LONG = 5.0  # CPU seconds of one copy
NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][+-]?\d+)?")
ODD = [b"-1", b"0", b"7", b"2147483648", b"-9223372036854775809", b"1e300", b"-1e999", b"nan", b"9" * 400]
ODD += [
    b"",
    b"x",
    b"\0",
    b"\xff",
    "\u202e\ud7ff²".encode(),
    b"[" * 3000,
    b'"',
    b",",
    b"\t",
    b"\n",
    b"\r",
    b"null",
]
ODD += [
    b"{}",
    b"true",
    b"\xef\xbb\xbf",
    b"# ",
    b"\x1f\x8b",
    b"&a;",
    b"1:1",
    b"qid:",
    b"Infinity",
    b'"\\ud800"',
]
TOKEN = re.compile(rb"[^\s,:\"]+")
KINDS = (
    "bit",
    "byte",
    "zeros",
    "cut",
    "longer",
    "swapped",
    "number",
    "number",
    "token",
    "token",
    "line",
    "into",
)


def fuzzed(whole: bytes, rng: random.Random) -> bytes:
    """The content with one to three changes, of bytes or of what a text is made of; never the content."""
    made = whole
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        made = one_change(made, rng.choice(KINDS), rng)
    return made if made != whole else fuzzed(whole, rng)


def one_change(whole: bytes, kind: str, rng: random.Random) -> bytes:
    if not whole:
        return rng.choice(ODD)
    if kind in ("number", "token"):
        places = list((NUMBER if kind == "number" else TOKEN).finditer(whole))
        if places:
            place = rng.choice(places)
            return whole[: place.start()] + rng.choice(ODD) + whole[place.end() :]
    if kind == "line":
        lines = whole.splitlines(keepends=True)
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
        del lines[rng.randrange(len(lines))]
        return b"".join(lines)
    if kind == "into":
        at = rng.randrange(len(whole) + 1)
        return whole[:at] + rng.choice(ODD) + whole[at:]
    return changed(whole, kind if kind in ("bit", "zeros", "cut", "longer", "swapped") else "byte", rng)


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    kinds = formats(folder) | kept_formats(folder)
    for kind, (file, read) in kinds.items():
        read(folder / file)  # the whole file is read, and what is compiled is compiled
        assert (folder / file).stat().st_size, kind
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for kind in sys.argv[4:] or kinds:
        fuzz(kind, folder, *kinds[kind], count, random.Random(f"{kind} {seed}"))


def fuzz(kind: str, folder: Path, file: str, read: Read, count: int, rng: random.Random) -> None:
    path, outcomes = folder / file, {"read": 0, "refused": 0}
    whole = path.read_bytes()
    with (folder / "now").open("w") as now:
        for number in range(count):
            now.seek(0)
            print(kind, number, file=now, flush=True)
            rewrite(path, fuzzed(whole, rng))
            start = time.process_time()
            try:
                read(path)
                outcomes["read"] += 1
            except ValueError:
                outcomes["refused"] += 1
            except BaseException as error:  # a panic of a library is no Exception
                (folder / f"fault-{kind}-{number}").write_bytes(path.read_bytes())
                print(f"{kind} {number} {type(error).__name__}: {error}".splitlines()[0][:300], flush=True)
            if time.process_time() - start > LONG:
                (folder / f"fault-{kind}-{number}").write_bytes(path.read_bytes())
                print(f"{kind} {number} took {time.process_time() - start:.1f} s", flush=True)
    rewrite(path, whole)
    print("counted", json.dumps({"kind": kind, **outcomes}), flush=True)


if __name__ == "__main__":
    main()
