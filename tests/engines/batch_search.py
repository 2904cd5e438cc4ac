"""`rankloop search ENGINE --queries FILE --out RUN`, the same for every engine."""

import numpy as np
from typer.testing import CliRunner

import rankloop as rl
from engines.shop import QUERIES
from rankloop.cli import app
from rankloop.engines.remote.remote_retriever import RemoteRetriever


def check_a_file_of_queries(engine, folder, monkeypatch):
    """The run has what each query finds, with the engine's scores; no document is sent for it."""
    texts = {f"q{at}": text for at, text in enumerate([*QUERIES, "xyzzyx"])}
    (folder / "queries.tsv").write_text("".join(f"{qid}\t{text}\n" for qid, text in texts.items()))
    wanted = {qid: engine.retriever(k=50)(text) for qid, text in texts.items()}
    answers, original = [], type(engine).found

    def spied(self, *given, **how):
        answers.append(original(self, *given, **how))
        return answers[-1]

    monkeypatch.setattr(type(engine), "found", spied)
    words = ["search", str(engine.address), "--queries", str(folder / "queries.tsv")]
    run = searched([*words, "-k", "50", "--no-typos", "--out", str(folder / "a.run")], folder / "a.run")
    assert len(answers) == len(texts)
    assert not any(one.documents for one in answers)
    assert set(run) == {qid for qid, found in wanted.items() if len(found)} == set(texts) - {"q6"}
    for qid, found in run.items():
        assert list(found) == wanted[qid].ids.tolist()
        np.testing.assert_allclose(list(found.values()), wanted[qid].scores, rtol=1e-6)

    dearest = rl.rankers.FeatureSum({"value(price)": 1.0}, features=["value(price)"])
    search = engine.retriever(k=50) >> rl.Features(["value(price)"]) >> dearest
    (search >> rl.first(10)).save(folder / "priced.rank")
    answers.clear()
    words += ["--pipeline", str(folder / "priced.rank"), "--out", str(folder / "b.run")]
    ranked = searched(words, folder / "b.run")
    assert all(one.documents for one in answers if len(one))  # features are computed from them
    for qid, found in ranked.items():
        assert list(found) == search(texts[qid]).ids[:10].tolist()
    assert isinstance(search.stages[0], RemoteRetriever)

    nowhere = CliRunner().invoke(app, ["search", away(engine), *words[2:4], "--out", str(folder / "c.run")])
    assert nowhere.exit_code != 0
    assert not (folder / "c.run").exists()


def away(engine):
    return f"{str(engine.address).split('://')[0]}://127.0.0.1:1/shop"


def searched(words, out):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output + repr(done.exception)
    assert "nothing was found for 1 of them" in " ".join(done.output.split())
    found: dict[str, dict[str, float]] = {}
    for line in out.read_text().splitlines():
        qid, _, document, rank, score, _ = line.split()
        found.setdefault(qid, {})[document] = float(score)
        assert int(rank) == len(found[qid])
    return found
