"""`--report` on tune, explain and online: a page with what was found, refused early if it is no page."""

import pytest

import rankloop as rl
from rankloop.cli import main

TUNE = "tune data.txt --ranker ranksvm --space C=0.1:1 --trials 2 --folds 2"
ONLINE = "online data.txt --test data.txt --pages 30"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    data = rl.synthetic(n_queries=12, docs_per_query=6, n_features=3, seed=0)
    rl.data.write_svmlight(data, tmp_path / "data.txt")
    rl.RankSVM().fit(data).save(tmp_path / "model.rank")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line, monkeypatch):
    monkeypatch.setattr("sys.argv", ["rankloop", *line.split()])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (TUNE, "Best parameters"),
        (ONLINE, "pdgd"),
        ("explain model.rank data.txt --resamples 1", "Which features matter"),
        ("explain model.rank data.txt --query 1 --a 1 --b 2", "Two documents of query 1"),
    ],
)
def test_a_report_is_written(folder, monkeypatch, line, said):
    assert run(f"{line} --report page.html", monkeypatch) in (0, None)
    page = (folder / "page.html").read_text()
    assert said in page
    assert "<table" in page or "<svg" in page


@pytest.mark.parametrize("line", [TUNE, ONLINE, "explain model.rank data.txt"])
def test_a_report_that_is_no_page_is_refused_first(folder, monkeypatch, capsys, line):
    assert run(f"{line} --report page.pdf", monkeypatch) not in (0, None)
    assert "name an .html file, got page.pdf" in capsys.readouterr().err
