"""The reader of each set of the catalogue: from a folder and a part to a data set, a corpus or clicks."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Array
from rankloop.data.corpus import Corpus
from rankloop.data.files.whole import read_whole
from rankloop.data.qrels import Qrels, read_qrels
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.read_beir import read_beir

__all__ = ["READERS"]

_SHORT = {"train": "train", "valid": "vali", "test": "test"}


def _svmlight(path: Path | list[Path], **options: Any) -> RankingDataset:
    from rankloop.data.svmlight.read_svmlight import read_svmlight

    return read_svmlight(path, **options)


def _folds(folder: Path, part: str, fold: int) -> RankingDataset:
    """Fold1/train.txt, vali.txt and test.txt, or trainingset.txt and so on, at any depth."""
    found = sorted(folder.rglob(f"Fold{fold}/{_SHORT[part]}*.txt*"))
    if len(found) != 1:
        raise ValueError(
            f"{folder} holds {len(found)} files like Fold{fold}/{_SHORT[part]}.txt, wanted one; "
            "keep one version of the features there"
        )
    return _svmlight(found[0])


def _yahoo(folder: Path, part: str, fold: int) -> RankingDataset:
    return _svmlight(folder / f"set1.{part}.txt", n_features=700)


def _istella(folder: Path, part: str, fold: int) -> RankingDataset:
    inner = folder / "sample"
    return _svmlight((inner if inner.is_dir() else folder) / f"{_SHORT[part]}.txt", n_features=220)


def _webis(folder: Path, part: str, fold: int) -> RankingDataset:
    """Five disjoint test folds: train on the other four."""
    files = {i: folder / f"Fold{i}_test.txt" for i in range(1, 6)}
    return _svmlight(files[fold] if part == "test" else [files[i] for i in files if i != fold])


def _lightgbm(folder: Path, part: str, fold: int) -> RankingDataset:
    return _svmlight(folder / f"rank.{part}", n_features=300)


def _movies(folder: Path, part: str, fold: int) -> Corpus:
    lines = read_whole(folder / "movies-corpus.jsonl.gz").decode().splitlines()
    documents = {movie.pop("id"): movie for movie in map(json.loads, lines)}
    text = read_whole(folder / "movies-judgments.tsv.gz").decode()
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    queries = {row[0]: row[1] for row in rows}
    judged = Qrels([r[0] for r in rows], [r[2] for r in rows], [float(r[3]) for r in rows])
    return Corpus(documents, queries, judged)


def _cranfield(folder: Path, part: str, fold: int) -> Corpus:
    """Grades are reversed, so that 4 is a complete answer and 1 of least interest.

    Queries are numbered by their order, 1 to 225, as in the judgments. One judgment of each query has the
    code -1, which the scale does not explain. By its readme the file holds relevant pairs only, and BM25
    ranks half of these documents first or second: they count as relevant, with the lowest grade.
    """
    documents = {}
    for docid, fields in _cran_records(folder / "cran.all.1400"):
        named = {"title": "T", "authors": "A", "source": "B", "text": "W"}
        documents[docid] = {name: fields.get(code, "") for name, code in named.items()}
    queries = {str(i): fields["W"] for i, (_, fields) in enumerate(_cran_records(folder / "cran.qry"), 1)}
    qrels = read_qrels(folder / "cranqrel", fields=("query", "document", "label"))
    grades = np.where(qrels.labels > 0, 5 - qrels.labels, 1)
    by_row = np.repeat(qrels.qid, np.diff(qrels.offsets))
    return Corpus(documents, queries, Qrels(by_row, qrels.docid, grades))


def _cran_records(path: Path) -> list[tuple[str, dict[str, str]]]:
    records = []
    for chunk in re.split(r"^\.I ", read_whole(path).decode(), flags=re.M)[1:]:
        number, *fields = re.split(r"^\.([TABW])\s*\n", chunk, flags=re.M)
        texts = {code: " ".join(text.split()) for code, text in zip(fields[::2], fields[1::2], strict=True)}
        records.append((number.strip(), texts))
    return records


def _beir(folder: Path, part: str, fold: int) -> Corpus:
    return read_beir(folder, split="dev" if part == "valid" else part)


def _session(folder: Path, part: str, fold: int) -> dict[str, Array]:
    """One page per line: search session, query, documents, verticals, clicks and, when graded, grades."""
    name = "human_label_for_GraphCM" if part == "graded" else part
    lines = read_whole(folder / f"{name}_per_query_quid.txt").decode().splitlines()
    pages = [[json.loads(field) for field in line.split("\t")] for line in lines]
    sizes = np.array([len(page[2]) for page in pages])
    columns = {
        "session": np.repeat(np.arange(len(pages)), sizes),
        "query": np.repeat([page[1] for page in pages], sizes),
        "document": np.concatenate([page[2] for page in pages]),
        "position": np.concatenate([np.arange(1, size + 1) for size in sizes]),
        "click": np.concatenate([page[4] for page in pages]),
    }
    if part == "graded":
        columns["grade"] = np.concatenate([page[5] for page in pages])
    return columns


def _bandit(folder: Path, part: str, fold: int) -> dict[str, Array]:
    """Each impression is a page of its own: one item at one of three positions."""
    import polars

    table = polars.read_csv(folder / part / f"{part.split('/')[1]}.csv")
    names = {
        "item_id": "document",
        "position": "position",
        "click": "click",
        "propensity_score": "propensity",
    }
    columns = {new: table[old].to_numpy() for old, new in names.items()}
    return {"session": np.arange(table.height), "query": np.zeros(table.height, np.int64), **columns}


READERS: dict[str, Callable[[Path, str, int], Any]] = {
    "folds": _folds,
    "yahoo": _yahoo,
    "istella": _istella,
    "webis": _webis,
    "lightgbm": _lightgbm,
    "movies": _movies,
    "cranfield": _cranfield,
    "beir": _beir,
    "session": _session,
    "bandit": _bandit,
}
