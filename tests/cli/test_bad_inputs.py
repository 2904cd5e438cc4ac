"""Bad inputs over all commands, over four hundred: each ends in one sentence and a non-zero exit."""

import io
import signal
import sys

import numpy as np
import polars
import pytest

from rankloop.cli import main
from rankloop.data import synthetic, write_svmlight
from rankloop.rankers import RankSVM
from rankloop.search import Index

# What stands where a file is wanted. Each is made by `folder` below, apart from those that are not there.
WRONG = (
    "none.txt",
    "empty.txt",
    "noise.bin",
    "half.rank",
    "folder",
    "prose.txt",
    "cut.gz",
    "nan.txt",
    "latin.txt",
)
# One place for a wrong file in every command that reads one; the rest of the command is right.
PLACES = {
    "evaluate-ranking": "evaluate {} data.txt",
    "evaluate-judgments": "evaluate scores.txt {}",
    "evaluate-by": "evaluate {} --by 1",
    "compare-ranking": "compare {} scores.txt --data data.txt",
    "compare-judgments": "compare a.run b.run --qrels {}",
    "fuse": "fuse a.run {} -o out.run",
    "fuse-qrels": "fuse a.run b.run --qrels {} -o out.run",
    "train": "train {} --ranker ranksvm -o out",
    "train-valid": "train data.txt --ranker ranksvm --valid {} -o out",
    "train-config": "train data.txt --config {} -o out",
    "predict-model": "predict {} data.txt",
    "predict-data": "predict model.rank {}",
    "explain": "explain {} data.txt",
    "tune": "tune {} --ranker ranksvm --space C=0.1,1",
    "compare-service": "compare v1 v2 --queries head --service {}",
    "users-service": "users list {}",
    "learn-data": "learn {} log.csv",
    "learn-log": "learn data.txt {}",
    "simulate": "simulate {} --by 1 -o out.csv",
    "simulate-policy": "simulate data.txt --logging-policy {} -o out.csv",
    "online": "online {} --test data.txt",
    "interleave": "interleave {} scores.txt model.rank",
    "report": "report {}",
    "convert": "convert {} out",
    "shard": "shard {} out.shards",
    "clicks-check": "clicks check {}",
    "clicks-fit": "clicks fit {} --model pbm",
    "clicks-propensity": "clicks propensity {}",
    "index": "index {} --out new.index --fields title:text",
}
# Files that are right where they stand, or that a command reads for good reason.
TEXTS = ("empty.txt", "folder", "latin.txt", "nan.txt", "prose.txt")  # documents like any other
RIGHT = {("report", "folder"), ("train-config", "empty.txt"), *(("index", name) for name in TEXTS)}
OTHERS = [
    "evalute scores.txt data.txt",
    "evaluate",
    "evaluate scores.txt",
    "evaluate scores.txt data.txt -m ndgc@10",
    "evaluate scores.txt data.txt -m ndcg@0",
    "evaluate scores.txt data.txt -m ndcg@ten",
    "evaluate scores.txt data.txt -m P_0",
    "evaluate scores.txt data.txt -m p(rel)@5",
    "evaluate scores.txt data.txt -m p(rle=2)@5",
    "evaluate scores.txt data.txt -m ndcg@10 -m ndcg@10",
    "evaluate scores.txt data.txt --ties random",
    "evaluate scores.txt data.txt --empty two",
    "evaluate scores.txt data.txt --convention trex",
    "evaluate scores.txt data.txt --format pdf",
    "evaluate scores.txt data.txt --format csv --json",
    "evaluate scores.txt data.txt --per-query out.xls",
    "evaluate scores.txt data.txt --per-query data.txt/out.csv",
    "evaluate scores.txt data.txt --report out.pdf",
    "evaluate scores.txt data.txt -o data.txt/out.txt",
    "evaluate scores.txt data.txt --workers 2",
    "evaluate scores.txt data.txt --backend spark",
    "evaluate few.txt data.txt",
    "evaluate words.txt data.txt",
    "evaluate data.txt --by 99",
    "evaluate data.txt --by bm25",
    "evaluate data.txt data.txt --by 1",
    "evaluate a.run data.txt",
    "evaluate a.run other.qrels",
    "evaluate - -",
    "evaluate scores.txt data.csv --label grade",
    "evaluate scores.txt data.csv --qid query",
    "evaluate scores.txt data.txt --qid query",
    "evaluate scores.txt data.csv --feature-names names.txt",
    "evaluate scores.txt 'none-*.csv'",
    "compare a.run --qrels a.qrels",
    "compare a.run a.run --qrels a.qrels",
    "compare a.run b.run",
    "compare a.run b.run --qrels a.qrels --test anova",
    "compare =a.run b.run --qrels a.qrels",
    "compare a=none.run b.run --qrels a.qrels",
    "compare a.run b.run --qrels a.qrels --seed one",
    "fuse a.run -o out.run",
    "fuse a.run b.run",
    "fuse a.run b.run -o out.run --method borda",
    "fuse a.run b.run -o out.run --weights 1",
    "fuse a.run b.run -o out.run --weights 1,x",
    "fuse a.run b.run -o out.run --method comb_sum --norm log",
    "fuse a.run b.run -o out.run -k 0",
    "fuse a.run b.run -o out.run --qrels a.qrels --weights 1,1",
    "fuse a.run b.run -o out.run --qrels other.qrels",
    "fuse a.run b.run -o out.run --qrels a.qrels -m ndgc",
    "fuse a.run scores.txt -o out.run",
    "train",
    "train data.txt --ranker why",
    "train data.txt --ranker forest",
    "train data.txt --ranker importance",
    "train data.txt --ranker fusion",
    "train data.txt --ranker lambdamrt",
    "train data.txt --set n_estimators=5",
    "train data.txt --set num_leaves=5",
    "train data.txt --set eta=0.1",
    "train data.txt --set trees",
    "train data.txt --set trees=0",
    "train data.txt --set trees=many",
    "train data.txt --set learning_rate=7",
    "train data.txt --set leaves=1",
    "train data.txt --set backend=sklearn",
    "train data.txt --set monotone={99=1}",
    "train data.txt --loss lambdarnk",
    "train data.txt --metric ndgc",
    "train data.txt -o folder",
    "train data.txt --report out.pdf",
    "train data.txt --queries queries.tsv",
    "train data.txt --workers 2",
    "train data.txt --valid narrow.csv",
    "train data.txt --feature-names few-names.txt",
    "train data.txt --feature-names none-names.txt",
    "train data.txt --label grade",
    "train flat.txt -o out",
    "train flat.txt --ranker linear -o out",
    "train bare.csv -o out",
    "train text.csv -o out",
    "train text.csv --feature-columns f1,f9 -o out",
    "train shop.index -o out",
    "train shop.index --queries queries.tsv --qrels a.qrels -o out",
    "train shop.index --queries none.tsv --qrels a.qrels -o out",
    "train shop.index --queries prose.txt --qrels a.qrels -o out",
    "train a.run -o out",
    "train log.csv -o out",
    "train model.rank -o out",
    "predict model.rank narrow.csv",
    "predict model.rank data.txt -o out.xls",
    "predict model.rank data.txt -o data.txt/out.txt",
    "predict model.rank data.txt --backend local",
    "predict a.run data.txt",
    "predict model.rank a.run",
    "predict shop.index data.txt",
    "predict model.rank",
    "explain model.rank data.txt --a 1",
    "explain model.rank data.txt --query nobody",
    "explain model.rank data.txt --query 1 --a 99",
    "explain model.rank data.txt --query 1 --a 1 --b 1",
    "explain model.rank data.txt --by shap",
    "explain model.rank data.txt --by gain",
    "explain model.rank data.txt --resamples 0",
    "tune data.txt --ranker ranksvm",
    "tune data.txt --ranker ranksvm --space C",
    "tune data.txt --ranker ranksvm --space D=1,2",
    "tune data.txt --ranker ranksvm --space C=a:b",
    "tune data.txt --ranker ranksvm --space C=1,2 --folds 1",
    "tune data.txt --ranker ranksvm --space C=1,2 --trials 0",
    "tune data.txt --ranker ranksvm --space C=1,2 -o folder",
    "tune",
    "index",
    "index docs.jsonl -o data.txt",
    "index docs.jsonl -o new.index --fields title",
    "index docs.jsonl -o new.index --fields title:words",
    "index docs.jsonl -o new.index --fields title:text --id sku",
    "index docs.jsonl -o new.index --fields title:text --language klingon",
    "index docs.jsonl -o shop.index --fields other:text",
    "backup",
    "backup shop.index",
    "backup none.index -o out",
    "backup shop.index -o out",
    "backup bad.toml -o out",
    "restore",
    "restore shop.index new.index",
    "restore none.backup new.index",
    "restore data.txt new.index",
    "restore none.backup bad.toml",
    "serve shop.index --prefix shop",
    "serve shop.index --pipeline none",
    "serve shop.index --pipeline model.rank",
    "learn shop.index log.csv --columns nobody=q",
    "learn shop.index log.csv --columns query=nobody",
    "learn shop.index none.csv",
    "learn shop.index log.csv --log-format ubi",
    "delete shop.index",
    "delete none.index 1",
    "delete data.txt 1",
    "delete shop.index --file none.txt",
    "delete shop.index --file empty.txt",
    "delete shop.index --file model.rank",
    "delete opensearch://127.0.0.1:1/shop 1",
    "search shop.index",
    "search none.index shoes",
    "search data.txt shoes",
    "search shop.index shoes --fields title",
    "search shop.index shoes --fields nobody:1",
    "search shop.index shoes -k 0",
    "search shop.index shoes --page 0",
    "search shop.index shoes --offset -1",
    "search shop.index shoes --offset 10 --page 2",
    "search shop.index shoes --page 5000",
    "search shop.index shoes --sort title",
    "search shop.index shoes --filter title=red",
    "search shop.index shoes --filter price",
    "search shop.index shoes --facet title",
    "search shop.index shoes --queries queries.tsv --out x.run",
    "search shop.index --queries queries.tsv",
    "search shop.index --out x.run",
    "search shop.index --queries none.tsv --out x.run",
    "search shop.index --queries data.txt --out x.run",
    "search shop.index --queries queries.tsv --out x.run --page 2",
    "search shop.index shoes --pipeline none.rank",
    "search shop.index shoes --pipeline model.rank",
    "users add shop.index",
    "users add shop.index two words",
    "users add shop.index ann --role king",
    "users remove shop.index nobody",
    "users renew shop.index nobody",
    "users list none.index",
    "compare v1 v2 --queries none --service shop.index",
    "compare v1 --queries none --service shop.index",
    "compare v1 v2 --queries none --max-loss 2 --service shop.index",
    "serve none.toml",
    "serve none.index",
    "serve bad.toml",
    "serve shop.index --port -1",
    "learn",
    "learn data.txt",
    "learn data.txt log.csv --log-format xml",
    "learn data.txt log.csv --propensity none.json",
    "learn data.txt log.csv --propensity a,b",
    "learn data.txt log.csv --propensity 0,0",
    "learn data.txt log.csv --budget huge",
    "learn data.txt log.csv --report out.pdf",
    "learn data.txt log.csv --missing ignore",
    "learn data.txt strange.csv",
    "learn data.txt strange.csv --missing drop",
    "learn none.toml",
    "learn shop.index log.csv",
    "simulate data.txt -o out.csv",
    "simulate data.txt --by 1 -o out.xls",
    "simulate data.txt --by 99 -o out.csv",
    "simulate data.txt --by 1 --user robot -o out.csv",
    "simulate data.txt --by 1 -n 0 -o out.csv",
    "simulate data.txt --by 1 -k 0 -o out.csv",
    "simulate data.txt --by 1 --randomize coin -o out.csv",
    "simulate data.txt --by 1 --rate 2 -o out.csv",
    "simulate data.txt --by 1 --noise 7 -o out.csv",
    "simulate data.txt --by 1 --logging-policy scores.txt -o out.csv",
    "simulate data.txt --logging-policy a.run -o out.csv",
    "simulate data.txt --logging-policy few.txt -o out.csv",
    "online data.txt --test data.txt --learner sarsa",
    "online data.txt --test data.txt --user robot",
    "online data.txt --test data.txt -o out.txt",
    "online data.txt --test data.txt --pages 0",
    "online data.txt --test none.txt",
    "online data.txt --test data.txt --by 1 --production scores.txt",
    "online data.txt",
    "interleave none.jsonl",
    "interleave data.txt",
    "interleave data.txt scores.txt",
    "interleave data.txt scores.txt scores.txt",
    "interleave data.txt scores.txt model.rank --method coin",
    "interleave data.txt scores.txt model.rank --pages 0",
    "interleave data.txt scores.txt model.rank --confidence 2",
    "interleave prose.jsonl",
    "report",
    "report a.run b.run",
    "report a.run b.run --qrels none.qrels",
    "report model.rank -o out.pdf",
    "convert data.txt",
    "convert data.csv out --missing 0",
    "convert data.txt out --n-features 1",
    "convert data.txt data.csv/out",
    "convert data.txt data.csv out",
    "shard data.txt out.shards --shards 0",
    "shard data.csv out.shards --qid query",
    "clicks chek log.csv",
    "clicks check log.csv --log-format xml",
    "clicks fit log.csv --model pbn",
    "clicks fit log.csv --iterations 0 --model pbm",
    "clicks fit log.csv --out model",
    "clicks propensity log.csv --method magic",
    "clicks propensity log.csv --method regression_em",
    "clicks propensity log.csv --layout none",
    "clicks propensity log.csv --depth 0",
    "clicks export none.index out",
    "datasets show nothing",
    "datasets get nothing",
    "demo nothing --no-serve",
]
CASES = [
    *(place.format(wrong) for name, place in PLACES.items() for wrong in WRONG if (name, wrong) not in RIGHT),
    *OTHERS,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Right files of all kinds, and the wrong ones."""
    at = tmp_path_factory.mktemp("bad")
    data = synthetic(n_queries=12, docs_per_query=5, n_features=3, seed=0).replace(feature_names=None)
    write_svmlight(data, at / "data.txt")
    write_svmlight(data.replace(y=np.ones(data.n_documents)), at / "flat.txt")
    data.to_frame().write_csv(at / "data.csv")
    data.to_frame().select("qid", "label", "f1").write_csv(at / "narrow.csv")
    data.to_frame().select("qid", "label").write_csv(at / "bare.csv")
    data.to_frame().with_columns(title=polars.lit("shoes")).write_csv(at / "text.csv")
    RankSVM().fit(data).save(at / "model.rank")
    (at / "scores.txt").write_text("".join(f"{score}\n" for score in data.X[:, 0].tolist()))
    (at / "few.txt").write_text("1\n2\n")
    (at / "words.txt").write_text("1\ntwo\n3\n")
    (at / "names.txt").write_text("one\ntwo\nthree\n")
    (at / "few-names.txt").write_text("one\n")
    for name in "ab":
        (at / f"{name}.run").write_text(
            "".join(f"q{q} Q0 d{d} 1 {d * q} {name}\n" for q in range(3) for d in range(4))
        )
    (at / "a.qrels").write_text("".join(f"q{q} 0 d1 1\n" for q in range(3)))
    (at / "other.qrels").write_text("z 0 d1 1\n")
    (at / "queries.tsv").write_text("q1\tred shoes\n")
    rows = [
        f"s{page},{data.row_qid[row]},{row},{row % 5 + 1},{int(row % 3 == 0)}"
        for page, row in enumerate(range(data.n_documents))
    ]
    head = "session,query,document,position,click\n"
    (at / "log.csv").write_text(head + "\n".join(rows) + "\n")
    (at / "strange.csv").write_text(head + "s,nobody,nothing,1,1\n")
    (at / "docs.jsonl").write_text('{"id": "a", "title": "red shoes"}\n')
    with Index.create(at / "shop.index", {"title": "text"}) as index:
        index.add([{"id": "a", "title": "red shoes"}])
        index.commit()
    (at / "bad.toml").write_text("index = [")
    (at / "prose.jsonl").write_text("These are words.\n")
    (at / "empty.txt").write_text("")
    (at / "noise.bin").write_bytes(np.random.default_rng(0).bytes(3000))
    (at / "half.rank").write_bytes((at / "model.rank").read_bytes()[:300])
    (at / "folder").mkdir()
    (at / "prose.txt").write_text("It was the best of times, it was the worst of times.\nNothing else.\n")
    (at / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03cut short")
    (at / "nan.txt").write_text("nan qid:1 1:0.5\n-1 qid:1 1:0.25\n")
    (at / "latin.txt").write_bytes("caf\xe9 cr\xe8me\n".encode("latin-1"))
    return at


def said(arguments, monkeypatch, capsys):
    """The exit status and what was printed to the error stream."""
    monkeypatch.setattr(sys, "argv", ["rankloop", *arguments])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with pytest.raises(SystemExit) as left:
        main()
    for number, handler in handlers.items():  # serve sets its own before it looks at the port
        signal.signal(number, handler)
    return left.value.code, capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", CASES)
def test_a_bad_input_ends_in_one_sentence(line, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    before = {path.name for path in folder.iterdir()}
    line = line.replace("new.index", str(tmp_path / "new.index"))
    code, printed = said([part.strip("'") for part in line.split()], monkeypatch, capsys)
    assert code not in (0, None), line
    assert "Traceback" not in printed
    sentences = [row for row in printed.splitlines() if row.startswith(("rankloop: ", "Error: "))]
    assert len(sentences) == 1, printed
    assert len(printed) < 2000
    assert {path.name for path in folder.iterdir()} == before, "something was left behind"


def test_there_are_two_hundred_and_more():
    assert len(CASES) == len(set(CASES)) > 200
    commands = {line.split()[0] for line in CASES if line}
    assert len(commands) >= 20
