"""How many lines the same job takes here and with others: real scripts, counted, and run where they can be.

Scripts are in `same_job/`, one folder a job; a job of another tool may be several files, which are added up.
Blank lines, comments and docstrings do not count. Every script that can run here is run on small data made
for it, and the table says which:

    python benchmarks/lines.py
    python benchmarks/lines.py --count       # without running them
"""

import argparse
import ast
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from results import benchmark, record

HERE = Path(__file__).parent / "same_job"
JOBS = {
    "train_and_compare": {"rankloop": ["rankloop.py"], "LightGBM + ranx": ["lightgbm_ranx.py"]},
    "search_and_rerank": {"rankloop": ["rankloop.py"], "PyTerrier": ["pyterrier.py"]},
    "learn_from_clicks": {
        "rankloop": ["rankloop.sh"],
        "Metarank": ["metarank.sh", "metarank.yml", "metarank_events.py"],
    },
}
NEEDS = {
    "LightGBM + ranx": lambda: find_spec("ranx"),
    "PyTerrier": lambda: find_spec("pyterrier") and shutil.which("java"),
    "Metarank": lambda: None,  # its jar is not in a package registry
    "rankloop": lambda: True,
}
LIMIT = 600  # seconds for one script


def main():
    parser = argparse.ArgumentParser(description="Lines of code for the same job.")
    parser.add_argument("--count", action="store_true", help="count only")
    counted = parser.parse_args().count
    print(f"{'job':<20}{'tool':<18}{'lines':>6}{'files':>6}{'times ours':>12}  run here")
    for job, tools in JOBS.items():
        ours = lines_of(job, "rankloop")
        for tool, files in tools.items():
            lines = lines_of(job, tool)
            told = "not asked" if counted else ran(job, tool)
            record("lines", job=job, tool=tool, lines=lines, files=len(files), times=lines / ours, ran=told)
            print(f"{job:<20}{tool:<18}{lines:>6}{len(files):>6}{lines / ours:>12.1f}  {told}", flush=True)


def lines_of(job, tool):
    return sum(count(HERE / job / name) for name in JOBS[job][tool])


def count(path):
    """Lines that are neither blank nor comment nor docstring."""
    text = path.read_text()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
                text = text.replace(ast.get_source_segment(text, node.body[0].value), "")
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())


def ran(job, tool):
    """Runs the first script of a tool in a folder with its data; says how that went."""
    if not NEEDS[tool]():
        return "no: it is not installed here"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        DATA[job](folder)
        first, *others = JOBS[job][tool]
        script = f"job{Path(first).suffix}"  # a script must not have the name of a package that it imports
        shutil.copy(HERE / job / first, folder / script)
        for other in others:
            shutil.copy(HERE / job / other, folder)
        program = [sys.executable] if script.endswith(".py") else ["bash", "-e"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with (folder / "output").open("w") as out:
            started = subprocess.Popen(
                [*program, script],
                cwd=folder,
                env=os.environ | {"PATH": path},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = started.wait(timeout=LIMIT)
            finally:
                with suppress(ProcessLookupError):  # what the script left running
                    os.killpg(started.pid, signal.SIGTERM)
        said = (folder / "output").read_text().strip().splitlines() or ["no word"]
    return f"it failed: {said[-1][:80]}" if status else "yes"


def letor(folder):
    """Files of a LETOR collection: train, validation, test."""
    random = np.random.default_rng(0)
    weights = random.normal(size=20)
    for at, part in enumerate(("train", "vali", "test")):
        with (folder / f"{part}.txt").open("w") as out:
            for query in range(200):
                X = random.normal(size=(20, 20))
                utility = X @ weights + random.normal(size=20) * 2
                labels = np.digitize(utility, np.quantile(utility, [0.6, 0.8, 0.95]))
                for label, row in zip(labels, X, strict=True):
                    values = " ".join(f"{number + 1}:{value:.4f}" for number, value in enumerate(row))
                    out.write(f"{label} qid:{at * 1000 + query} {values}\n")


def collection(folder):
    """Documents, queries and judgments."""
    random = np.random.default_rng(0)
    words = [f"word{number}" for number in range(400)]
    texts = [random.choice(words, size=40) for _ in range(2000)]
    with (folder / "documents.jsonl").open("w") as out:
        for number, text in enumerate(texts):
            out.write(
                json.dumps({"id": f"d{number}", "title": " ".join(text[:4]), "body": " ".join(text[4:])})
            )
            out.write("\n")
    with (folder / "queries.tsv").open("w") as queries, (folder / "qrels.txt").open("w") as qrels:
        for number in range(90):
            asked = random.choice(words, size=2, replace=False)
            queries.write(f"q{number}\t{' '.join(asked)}\n")
            for at, text in enumerate(texts):
                grade = 2 * sum(word in text[:4] for word in asked) + sum(word in text for word in asked)
                if grade > 1:
                    qrels.write(f"q{number} 0 d{at} {grade}\n")


def shop(folder):
    """Products, and the log of a shop whose people want what is cheap."""
    random = np.random.default_rng(0)
    kinds = ["shoes", "hat", "coat", "scarf", "gloves", "belt"]
    with (folder / "products.jsonl").open("w") as out:
        for number in range(60):
            brand = ("Hare", "Tortoise")[number % 2]
            one = {"id": f"p{number}", "title": f"red {kinds[number % 6]}", "brand": brand, "price": number}
            out.write(json.dumps(one) + "\n")
    with (folder / "log.csv").open("w", newline="") as out:
        log = csv.writer(out)
        log.writerow(["visit", "q", "sku", "place", "clicked"])
        for visit in range(1200):
            kind = visit % 6
            for place, at in enumerate(random.permutation(10)[:6], 1):
                clicked = random.random() < 0.9 / place * (0.7 if at < 4 else 0.1)
                log.writerow([visit, f"red {kinds[kind]}", f"p{kind + 6 * at}", place, int(clicked)])


DATA = {"train_and_compare": letor, "search_and_rerank": collection, "learn_from_clicks": shop}


if __name__ == "__main__":
    benchmark(main)
