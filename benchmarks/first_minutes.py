"""Minutes from `pip install` to the first result, for each of four users, in a clean environment.

For each user a new virtual environment, an empty home (no cache of pip, none of compiled kernels) and the
extra that the README names; then the commands of their first minutes, on files such as they have. The clock
starts before pip and stops when the last command has printed its result, which is checked. CPU time tells a
slow program from a busy machine:

    python benchmarks/first_minutes.py
    python benchmarks/first_minutes.py shop      # one of: scientist, researcher, shop, data
    python benchmarks/first_minutes.py --here    # without installing: the interpreter that runs this
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lines as same_job
from results import benchmark, record

ROOT = Path(__file__).parents[1]
BAR = 5.0  # minutes, on a quiet machine with a fast line
LIMIT = 900  # seconds for one step


@dataclass(frozen=True)
class User:
    """Who, what they install, their files, and their first commands with what the last one must print."""

    who: str
    extra: str
    files: object
    commands: tuple[str, ...]
    result: str


def runs(folder):
    """Two TREC runs and judgments."""
    same_job.collection(folder)
    judged = {}
    for line in (folder / "qrels.txt").read_text().splitlines():
        query, _, document, grade = line.split()
        judged.setdefault(query, []).append((document, int(grade)))
    for name, order in (("bm25", 1), ("new", -1)):
        with (folder / f"{name}.run").open("w") as out:
            for query, documents in judged.items():
                for rank, (document, _) in enumerate(
                    sorted(documents, key=lambda one: order * hash_of(one)), 1
                ):
                    out.write(f"{query} Q0 {document} {rank} {1 / rank:.6f} {name}\n")


def hash_of(one):
    return sum(map(ord, one[0])) * 31 % 97 - 10 * one[1]


def clicks(folder):
    """Features of documents, and a click log over them: documents are row numbers."""
    same_job.letor(folder)
    random = np.random.default_rng(0)
    labels = [int(line.split(" ", 1)[0]) for line in (folder / "train.txt").read_text().splitlines()]
    with (folder / "log.csv").open("w") as out:
        out.write("session,query,document,position,click\n")
        for page in range(5000):
            query = page % 200
            for place, at in enumerate(random.permutation(20)[:8], 1):
                row = 20 * query + at
                clicked = random.random() < (0.15 + 0.28 * labels[row]) / place
                out.write(f"{page},{query},{row},{place},{int(clicked)}\n")


USERS = {
    "scientist": User(
        "data scientist",
        "",
        same_job.letor,
        ("rankloop train train.txt --valid vali.txt --test test.txt --out runs/first",),
        "ndcg@10",
    ),
    "researcher": User(
        "IR researcher",
        "search",
        runs,
        (
            "rankloop evaluate bm25.run qrels.txt -m ndcg@10 -m map",
            "rankloop compare bm25.run new.run --qrels qrels.txt",
        ),
        "new",
    ),
    "shop": User(
        "shop's engineer",
        "search,serve",
        same_job.shop,
        (
            "rankloop index products.jsonl --out shop.index --fields title:text,brand:keyword,price:number",
            "SERVE shop.index red shoes",
        ),
        "red shoes",
    ),
    "data": User(
        "data engineer",
        "",
        clicks,
        (
            "rankloop shard train.txt train.shards --shards 4",
            "rankloop clicks check log.csv",
            "rankloop learn train.txt log.csv --out fair.model",
        ),
        "examination by rank",
    ),
}


def main():
    parser = argparse.ArgumentParser(description="Minutes from pip install to the first result.")
    parser.add_argument("user", nargs="*", help=f"of {', '.join(USERS)}; by default all")
    parser.add_argument("--here", action="store_true", help="measure without installing")
    options = parser.parse_args()
    head = (
        f"{'user':<18}{'install':<26}{'pip, s':>8}{'(CPU)':>8}{'commands, s':>13}{'(CPU)':>8}{'minutes':>9}"
    )
    print(f"{head}  bar {BAR:g}", flush=True)
    for name in options.user or USERS:
        pip, commands = measured(USERS[name], here=options.here)
        what = "(this interpreter)" if options.here else f"rankloop[{USERS[name].extra}]".replace("[]", "")
        total = (pip.wall + commands.wall) / 60
        figures = f"{pip.wall:>8.1f}{pip.cpu:>8.1f}{commands.wall:>13.1f}{commands.cpu:>8.1f}{total:>9.2f}"
        record(
            "minutes",
            user=USERS[name].who,
            install=what,
            pip=pip.wall,
            pip_cpu=pip.cpu,
            commands=commands.wall,
            commands_cpu=commands.cpu,
            minutes=total,
        )
        print(f"{USERS[name].who:<18}{what:<26}{figures}", flush=True)


class Clock:
    """Seconds of a block, and those that its processes computed."""

    wall = cpu = 0.0

    def __enter__(self):
        self._start = time.monotonic(), self._used()
        return self

    def __exit__(self, *error):
        self.wall, self.cpu = time.monotonic() - self._start[0], self._used() - self._start[1]

    def _used(self):
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime


def measured(user, *, here=False):
    """The clocks of installing, and of the commands until the first result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        work.mkdir()
        user.files(work)
        environment = clean(folder)
        programs = Path(sys.executable).parent
        installed = Clock()
        if not here:
            wheel = built(folder, environment)
            subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True, env=environment)
            programs = folder / "env" / "bin"
            what = f"rankloop[{user.extra}] @ {wheel.as_uri()}" if user.extra else str(wheel)
            with installed:
                done(["pip", "install", "-q", what], programs, work, environment)
        else:
            environment["PYTHONPATH"] = str(ROOT / "src")
        with Clock() as used:
            for command in user.commands:
                words = command.split()
                if words[0] == "SERVE":
                    said = served(words[1], " ".join(words[2:]), programs, work, environment)
                else:
                    said = done(words, programs, work, environment)
        if user.result not in said:
            raise SystemExit(f"{user.who}: no {user.result!r} in the result:\n{said}")
        return installed, used


def clean(folder):
    """The environment of a new user: an empty home, and nothing of this one's settings but pip's."""
    home = folder / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "OMP_"))}
    more = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}
    return (
        kept | more | {name: os.environ[name] for name in ("https_proxy", "http_proxy") if name in os.environ}
    )


def built(folder, environment):
    """The wheel of this tree."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder / "wheel", ROOT]
    subprocess.run(command, check=True, env=environment)
    return next((folder / "wheel").glob("*.whl"))


def done(words, programs, work, environment):
    """What a command printed."""
    program = [str(programs / "python"), "-m", words[0]]
    ended = subprocess.run(
        [*program, *words[1:]],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if ended.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def served(index, query, programs, work, environment):
    """The first page that a new service answers with."""
    started = subprocess.Popen(
        [str(programs / "python"), "-m", "rankloop", "serve", index, "--port", "0"],
        cwd=work,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        address = next(line.split()[-1] for line in started.stdout if "  page" in line)
        body = json.dumps({"query": query}).encode()
        asked = urllib.request.Request(f"{address}search", body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
            return answer.read().decode()
    finally:
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=60)


if __name__ == "__main__":
    benchmark(main)
