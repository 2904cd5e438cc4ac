"""The catalogue: entries, places, downloads, and the real sets where they are."""

import dataclasses
import hashlib
import tarfile
import zipfile

import numpy as np
import pytest

from rankloop.data import Corpus, RankingDataset, catalog
from rankloop.data.catalog.entries import ENTRIES
from rankloop.data.catalog.readers import READERS


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A machine without any set."""
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("name", catalog.names())
def test_entries_are_whole(name):
    entry = catalog.entry(name)
    assert entry.kind in ("features", "text", "clicks")
    assert entry.reader in READERS
    assert all((entry.title, entry.shape, entry.licence, entry.origin, entry.how, entry.parts))
    assert all(len(digest) == 64 for digest in entry.checksums.values())
    assert all(url.startswith("http") for url in entry.downloads.values())
    assert entry.to_dict()["name"] == name


def test_the_named_sets_are_there():
    wanted = {"mslr-web10k", "mslr-web30k", "yahoo-ltrc", "istella-s", "mq2007", "mq2008", "ohsumed"}
    wanted |= {"msrd-movies", "nfcorpus", "scifact", "cranfield", "webis-clueweb09", "open-bandit"}
    assert wanted <= set(catalog.names())


def test_wrong_names_and_parts(empty):
    with pytest.raises(ValueError, match="unknown data set 'cranfeild'; did you mean 'cranfield'"):
        catalog.load("cranfeild")
    with pytest.raises(ValueError, match="unknown part of mq2007 'dev'"):
        catalog.load("mq2007", "dev")
    with pytest.raises(ValueError, match="fold is 1 to 5"):
        catalog.load("mq2007", fold=6)


def test_what_is_not_here_says_how_to_get_it(empty):
    assert catalog.find("cranfield") is None
    with pytest.raises(FileNotFoundError, match="rankloop datasets get cranfield"):
        catalog.load("cranfield")
    with pytest.raises(FileNotFoundError, match="accept the licence"):
        catalog.load("mslr-web10k")
    with pytest.raises(ValueError, match="cannot be downloaded automatically"):
        catalog.get("mslr-web10k")


def served(folder, monkeypatch, content, wanted=None):
    """A copy of the LightGBM example that comes from a local file."""
    source = folder / "source"
    source.write_bytes(content)
    entry = dataclasses.replace(
        ENTRIES["lightgbm-example"],
        downloads={"rank.train": source.as_uri()},
        checksums={"rank.train": wanted or hashlib.sha256(content).hexdigest()},
    )
    monkeypatch.setitem(ENTRIES, "lightgbm-example", entry)


def test_get_downloads_once_and_checks(empty, monkeypatch):
    served(empty, monkeypatch, b"1 qid:1 1:0.5\n")
    folder = catalog.get("lightgbm-example")
    assert folder == empty / "data" / "lightgbm_lambdarank"
    assert catalog.load("lightgbm-example", "train").n_features == 300
    (empty / "source").unlink()
    assert catalog.get("lightgbm-example") == folder
    catalog.verify("lightgbm-example")
    (folder / "rank.train").write_text("other")
    with pytest.raises(ValueError, match="was expected; the file is damaged"):
        catalog.verify("lightgbm-example")


def test_a_wrong_or_broken_download_leaves_nothing(empty, monkeypatch):
    served(empty, monkeypatch, b"changed", wanted="0" * 64)
    with pytest.raises(ValueError, match=r"rank.train of lightgbm-example has sha256"):
        catalog.get("lightgbm-example")
    (empty / "source").unlink()
    with pytest.raises(ValueError, match="could not download file:"):
        catalog.get("lightgbm-example")
    assert list((empty / "data").iterdir()) == []


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_archives_are_unpacked_with_or_without_their_own_folder(empty, monkeypatch, kind):
    inner = empty / "nfcorpus"
    (inner / "qrels").mkdir(parents=True)
    (inner / "corpus.jsonl").write_text('{"_id": "d1", "title": "t", "text": "x", "metadata": {}}\n')
    (inner / "queries.jsonl").write_text('{"_id": "q1", "text": "y"}\n{"_id": "q2", "text": "z"}\n')
    (inner / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    archive = empty / f"made.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as packed:
            for file in inner.rglob("*.*"):
                packed.write(file, file.relative_to(empty))
    else:
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(inner / "corpus.jsonl", "corpus.jsonl")
            packed.add(inner / "queries.jsonl", "queries.jsonl")
            packed.add(inner / "qrels", "qrels")
    entry = dataclasses.replace(ENTRIES["nfcorpus"], downloads={f"nfcorpus.{kind}": archive.as_uri()})
    monkeypatch.setitem(ENTRIES, "nfcorpus", entry)
    catalog.get("nfcorpus")
    corpus = catalog.load("nfcorpus", "valid")
    assert corpus.documents == {"d1": {"title": "t", "text": "x"}}
    assert corpus.queries == {"q1": "y"}
    assert corpus.qrels == {"q1": {"d1": 2.0}}
    archive.write_bytes(archive.read_bytes()[:40])
    (empty / "data" / "nfcorpus").rename(empty / "gone")
    with pytest.raises(ValueError, match=r"cannot be unpacked|damaged"):
        catalog.get("nfcorpus")


def test_folds_are_found_at_any_depth(empty):
    fold = empty / "data" / "MQ2007" / "Querylevelnorm" / "Fold2"
    fold.mkdir(parents=True)
    (fold / "vali.txt").write_text("1 qid:7 1:0.5\n")
    assert catalog.load("mq2007", "valid", fold=2).n_documents == 1
    with pytest.raises(ValueError, match=r"holds 0 files like Fold1/train.txt"):
        catalog.load("mq2007")


def test_yahoo_istella_and_bandit_layouts(empty):
    for place in ("yahoo_ltrc/set1.valid.txt", "istella-s-letor/sample/vali.txt"):
        file = empty / "data" / place
        file.parent.mkdir(parents=True)
        file.write_text("1 qid:7 1:0.5\n")
    assert catalog.load("yahoo-ltrc", "valid").n_features == 700
    assert catalog.load("istella-s", "valid").n_features == 220
    file = empty / "data/open_bandit_dataset/bts/men/men.csv"
    file.parent.mkdir(parents=True)
    file.write_text(",timestamp,item_id,position,click,propensity_score\n0,2019-11-24,5,3,1,0.25\n")
    log = catalog.load("open-bandit", "bts/men")
    assert {name: values.tolist() for name, values in log.items()} == {
        "session": [0],
        "query": [0],
        "document": [5],
        "position": [3],
        "click": [1],
        "propensity": [0.25],
    }


@pytest.mark.parametrize("name", [name for name in catalog.names() if catalog.entry(name).checksums])
def test_real_files_have_the_checksums(collections, name):
    if catalog.find(name) is None:
        pytest.skip(f"{name} is not in RANKLOOP_DATA")
    catalog.verify(name)


def real(name, *rest, **options):
    if catalog.find(name) is None:
        pytest.skip(f"{name} is not in RANKLOOP_DATA")
    return catalog.load(name, *rest, **options)


def test_real_cranfield(collections):
    corpus = real("cranfield")
    assert repr(corpus) == "Corpus(1,400 documents, 225 queries, 1,837 judgments)"
    labels, counts = np.unique(corpus.qrels.labels, return_counts=True)
    assert (labels.tolist(), counts.tolist()) == ([1, 2, 3, 4], [363 + 225, 734, 387, 128])
    assert corpus.qrels["1"]["486"] == 1  # -1 in the file
    assert set(corpus.qrels) == set(corpus.queries) == {str(i) for i in range(1, 226)}
    assert corpus.qrels["1"]["184"] == 3
    assert corpus.queries["3"].startswith("what problems of heat conduction in composite slabs")
    assert corpus.documents["1"]["authors"] == "brenckman,m."
    assert corpus.documents["184"]["title"] == "scale models for thermo-aeroelastic research ."
    assert set(corpus.qrels.docid) <= set(corpus.documents)


def test_real_movies(collections):
    corpus = real("msrd-movies")
    assert isinstance(corpus, Corpus)
    assert (len(corpus.documents), len(corpus.queries), len(corpus.qrels.docid)) == (9750, 12212, 288464)
    assert corpus.queries["qid:5141"] == "insidious 2 netflix"
    assert corpus.qrels["qid:5141"]["49018"] == 1
    assert corpus.documents["436270"]["title"] == "Black Adam"
    assert set(np.unique(corpus.qrels.labels)) == {0, 1}


def test_real_session_clicks(collections):
    pages = clicks = 0
    for part in ("train", "valid", "test"):
        log = real("trec-session2014", part)
        assert len({len(column) for column in log.values()}) == 1
        pages += len(np.unique(log["session"]))
        clicks += int(log["click"].sum())
        assert set(np.unique(log["position"])) == set(range(1, 11))
    graded = real("trec-session2014", "graded")
    assert (pages, clicks) == (3596, 1610)
    assert len(np.unique(graded["session"])) == 856
    assert graded["grade"][:5].tolist() == [1, 1, 1, 2, 2]


def test_real_webis(collections):
    train, test = real("webis-clueweb09", "train", fold=2), real("webis-clueweb09", "test", fold=2)
    assert isinstance(train, RankingDataset)
    assert train.n_queries + test.n_queries == 61
    assert train.n_documents + test.n_documents == 26646
    assert train.n_features == test.n_features == 42
    assert not set(train.qid.tolist()) & set(test.qid.tolist())


def test_real_lightgbm(collections):
    train, test = real("lightgbm-example", "train"), real("lightgbm-example", "test")
    assert (train.n_queries, train.n_documents, train.n_features) == (201, 3005, 300)
    assert (test.n_queries, test.n_documents, test.n_features) == (50, 768, 300)
