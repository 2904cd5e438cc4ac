"""TextRanker: packed BERT equals transformers', any loss, resume, bad input, stages and features."""

import json
import shutil
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import members
import tiny_bert
from rankloop.clicks import PBM
from rankloop.clicks import simulate as simulated
from rankloop.data import Pairs as Preferences
from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.propensity import Propensity
from rankloop.rankers import LambdaMART, TextRanker, distill, load, to_onnx
from rankloop.search import Features, Index, rerank, text_score
from rankloop.unbiased import ips

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers", reason="the extra text is not installed")

from rankloop.rankers.text.lists import pair_batch  # noqa: E402 - needs torch
from rankloop.rankers.text.model import open_model  # noqa: E402
from rankloop.rankers.text.packed import Packed, attention  # noqa: E402
from rankloop.rankers.text.safetensors import read_safetensors  # noqa: E402
from rankloop.rankers.text.tokens import Pairs, Tokenizer  # noqa: E402

QUICK = {"learning_rate": 3e-3, "epochs": 10, "batch_documents": 32, "dropout": 0.0, "device": "cpu"}
CPU = torch.device("cpu")
LOSSES = [one.__name__ for one in members.LOSSES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_bert.checkpoint(tmp_path_factory.mktemp("bert")))


@pytest.fixture(scope="module")
def judged():
    return tiny_bert.judged()


@pytest.fixture(scope="module")
def fitted(folder, judged):
    data, documents = judged
    return TextRanker(folder, documents=documents, **QUICK).fit(data)


def quality(ranker, data):
    return float(np.nanmean(metric("ndcg")(ranker.predict(data), data.y, data.offsets)))


# Tokens

words = st.lists(st.sampled_from([*tiny_bert.WORDS[:13], "socks", "unheard", "Hät"]), max_size=12).map(
    " ".join
)


@settings(max_examples=60, deadline=None)
@given(queries=st.lists(words, min_size=1, max_size=3), documents=st.lists(words, min_size=1, max_size=4))
def test_pairs_are_put_together_as_the_tokenizer_does(queries, documents):
    """Texts tokenized once and joined by us, against the tokenizer on each pair."""
    tokenizer = Tokenizer(tiny_bert.tokenizer())
    rows = np.array([(q, d) for q in range(len(queries)) for d in range(len(documents))])
    pairs = Pairs(tokenizer, queries, documents, rows[:, 0], rows[:, 1], limit=64)
    tokens, types, lengths = pairs.packed(np.arange(len(rows)))
    own = sys.modules["tokenizers"].Tokenizer.from_str(tiny_bert.tokenizer())
    wanted = [own.encode(queries[q], documents[d]) for q, d in rows]
    assert tokens.tolist() == [id for one in wanted for id in one.ids]
    assert types.tolist() == [kind for one in wanted for kind in one.type_ids]
    assert lengths.tolist() == [len(one.ids) for one in wanted]


@pytest.mark.parametrize(
    ("query", "document", "kept"), [(3, 40, (3, 10)), (40, 3, (10, 3)), (40, 40, (6, 7))]
)
def test_long_pairs_are_cut_and_both_texts_keep_a_part(query, document, kept):
    tokenizer = Tokenizer(tiny_bert.tokenizer())
    zero = np.zeros(1, np.int64)
    pairs = Pairs(tokenizer, ["red " * query], ["hat " * document], zero, zero, limit=16)
    assert (int(pairs.query_lengths[0]), int(pairs.document_lengths[0])) == kept
    assert int(pairs.lengths[0]) == 16


def test_a_limit_without_room_is_refused(folder, judged):
    with pytest.raises(ValueError, match="tokens must be 5 or more, got 4"):
        TextRanker(folder, documents=judged[1], **QUICK, tokens=4).fit(judged[0])


# The network


def naive_attention(qkv, lengths):
    """One sequence and one head at a time, by the formula."""
    made, start = [], 0
    for length in lengths:
        own = qkv[start : start + length].double()
        heads = []
        for head in range(own.shape[2]):
            query, key, value = (own[:, part, head] for part in range(3))
            share = torch.softmax(query @ key.T / query.shape[1] ** 0.5, dim=1)
            heads.append(share @ value)
        made.append(torch.cat(heads, dim=1))
        start += length
    return torch.cat(made)


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_attention_stays_within_a_sequence(lengths, seed):
    lengths = np.sort(lengths)
    qkv = torch.randn(int(lengths.sum()), 3, 2, 4, generator=torch.Generator().manual_seed(seed))
    found = attention(qkv, Packed(lengths, CPU))
    torch.testing.assert_close(found.double(), naive_attention(qkv, lengths.tolist()), rtol=1e-4, atol=1e-5)


def test_a_score_does_not_depend_on_its_neighbours(fitted):
    texts = ["great hat", "awful shoe sock hat red", "fine", "good good good good"]
    together = fitted.scores("red hat", texts)
    alone = [fitted.scores("red hat", [text])[0] for text in texts]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-4)
    assert fitted.scores("red hat", []).shape == (0,)


def test_chunks_change_neither_scores_nor_gradients(folder, judged):
    data, documents = judged
    gradients = []
    for at_once in (10_000, 30):
        model = open_model(folder, dropout=0.0, seed=0)
        texts = [documents[id]["about"] for id in data.docid]
        queries = [str(one) for one in data.query_text]
        rows = np.arange(data.n_documents)
        pairs = Pairs(model.tokenizer, queries, texts, data.row_query, rows, limit=32)
        batch = pair_batch(pairs, np.arange(40), CPU, at_once)
        assert (len(batch.chunks) > 5) == (at_once == 30)
        scores = model.scorer.train()(batch)
        (scores * torch.arange(40.0)).sum().backward()
        gradients.append(
            [scores.detach(), *(p.grad for p in model.scorer.parameters() if p.grad is not None)]
        )
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("classes", [0, 1, 2])
def test_equal_to_transformers(tmp_path, classes):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = tiny_bert.checkpoint(tmp_path / "bert", classes=classes)
    ranker = TextRanker(str(folder), device="cpu").open()
    kind = transformers.BertForSequenceClassification if classes else transformers.BertModel
    theirs = kind.from_pretrained(folder).eval()
    texts = ["great hat", "awful shoe sock hat red", "a"]
    wanted = []
    for text in texts:
        one = sys.modules["tokenizers"].Tokenizer.from_str(tiny_bert.tokenizer()).encode("red hat", text)
        given = {"input_ids": torch.tensor([one.ids]), "token_type_ids": torch.tensor([one.type_ids])}
        with torch.no_grad():
            out = theirs(**given)
        if classes:
            wanted.append(float(out.logits[0, -1] - (out.logits[0, 0] if classes == 2 else 0)))
        else:
            wanted.append(ranker.module_.scored(out.last_hidden_state.mean(1)).item())
    np.testing.assert_allclose(ranker.scores("red hat", texts), wanted, rtol=1e-4, atol=1e-4)


def test_other_kinds_run_through_transformers_and_say_so(tmp_path, judged):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.DistilBertConfig(
        vocab_size=40, dim=16, n_layers=1, n_heads=2, hidden_dim=32, max_position_embeddings=64
    )
    transformers.DistilBertModel(config).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tiny_bert.tokenizer())
    data, documents = judged
    with pytest.warns(UserWarning, match="not a BERT: it runs through transformers, on padded batches"):
        ranker = TextRanker(str(tmp_path), documents=documents, **{**QUICK, "epochs": 2}).fit(data)
    ranker.save(tmp_path / "model")
    again = load(tmp_path / "model").set_params(documents=documents)
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))
    alone = ranker.scores("red hat", ["great hat"])
    np.testing.assert_allclose(ranker.scores("red hat", ["great hat", "a " * 30])[:1], alone, atol=1e-5)


# Training


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains(folder, judged, loss):
    data, documents = judged
    short = {**QUICK, "epochs": 3}
    ranker = TextRanker(folder, documents=documents, loss=loss, **short).fit(data)
    assert np.isfinite(ranker.history_["loss"]).all()
    assert np.ptp(ranker.predict(data)) > 0


@pytest.mark.parametrize("loss", ["softmax", "lambdarank", "sigmoidcrossentropy"])
def test_learns_exactly_and_generalises(folder, judged, loss):
    data, documents = judged
    other, more = tiny_bert.judged(seed=7)
    ranker = TextRanker(folder, documents={**documents, **more}, loss=loss, **QUICK).fit(data)
    assert quality(ranker, data) > 0.98
    assert quality(ranker, other) > 0.95


def test_accumulated_steps_equal_one_large_batch(folder, judged):
    data, documents = judged
    weights = []
    for batches, lists in ((1, 6), (3, 2)):
        settings = QUICK | {"epochs": 1, "accumulate": batches, "batch_lists": lists}
        ranker = TextRanker(folder, documents=documents, **settings).fit(data)
        weights.append(ranker.predict(data))
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-3, atol=1e-3)


def test_a_resumed_training_ends_as_an_uninterrupted_one(folder, judged, tmp_path, monkeypatch):
    from rankloop.rankers.neural import checkpoint

    data, documents = judged
    settings = QUICK | {"epochs": 4, "dropout": 0.1}
    whole = TextRanker(folder, documents=documents, **settings).fit(data, data)
    write, written = checkpoint.write_checkpoint, []

    def stop_after_two(path, identity, state):
        write(path, identity, state)
        written.append(path)
        if len(written) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "write_checkpoint", stop_after_two)
    ranker = TextRanker(folder, documents=documents, resume=tmp_path / "half", **settings)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data, data)
    assert not ranker.__sklearn_is_fitted__() or not hasattr(ranker, "module_")
    ranker.fit(data, data)
    np.testing.assert_array_equal(ranker.predict(data), whole.predict(data))
    with pytest.raises(ValueError, match="of another training"):
        ranker.set_params(learning_rate=1.0).fit(data, data)


def test_stops_early_and_keeps_the_best_weights(folder, judged):
    data, documents = judged
    valid = data.replace(y=3 - data.y)  # what is learned makes this worse
    settings = QUICK | {"epochs": 30, "patience": 2, "schedule": "constant"}
    ranker = TextRanker(folder, documents=documents, **settings).fit(data, valid)
    values = ranker.history_["ndcg@10"]
    assert len(values) < 30
    assert ranker.n_iter_ == len(values) - 2 or ranker.n_iter_ == int(np.argmax(values)) + 1
    assert ranker.metrics_["valid"]["ndcg@10"] == max(values)


def test_clicks_with_propensities_are_labels(folder, judged):
    """Clicks fall with the rank; weights of 1/propensity bring back what people like."""
    data, documents = judged
    examination = 1 / np.arange(1, 9)
    user = PBM(examination=examination, attraction=[0.05, 0.2, 0.6, 0.95])
    log = simulated(data, logging_policy=-data.y.astype(float), user=user, sessions=4_000, seed=0)
    fair = ips(log, Propensity(examination, examination, examination, "known"), data)
    assert fair.query_weight is not None
    assert not np.isin(fair.y, data.y).all()  # estimates, not judgments
    ranker = TextRanker(folder, documents=documents, **QUICK).fit(fair)
    assert quality(ranker, data) > 0.9


def test_a_teacher_and_a_student(folder, judged, fitted):
    """A cross-encoder learns from a teacher, and teaches trees that never read the texts."""
    data, documents = judged
    student = distill(fitted, TextRanker(folder, documents=documents, **QUICK), data)
    assert quality(student, data) > 0.95
    soft = TextRanker(folder, documents=documents, loss="distill", **QUICK).fit(data)
    assert quality(soft, data) > 0.95
    with_columns = data.replace(X=(data.y[:, None] * [1.0, -1.0]).astype(np.float32))
    trees = distill(fitted, LambdaMART(trees=10, leaves=4, min_sum_hessian=0.0), with_columns)
    assert quality(trees, with_columns) > 0.95


def test_documents_are_shared_not_copied(folder, judged):
    from sklearn.base import clone

    ranker = TextRanker(folder, documents=judged[1])
    assert clone(ranker).documents is ranker.documents


# Bad input


def test_what_is_missing_is_said(folder, judged, fitted, tmp_path, monkeypatch):
    data, documents = judged
    with pytest.raises(ValueError, match="has no query_text"):
        TextRanker(folder, documents=documents).fit(data.replace(query_text=None))
    with pytest.raises(ValueError, match="has no docid"):
        TextRanker(folder, documents=documents).fit(data.replace(docid=None))
    with pytest.raises(ValueError, match="needs the texts of the documents"):
        TextRanker(folder).fit(data)
    with pytest.raises(ValueError, match="document 'd0-0' of the data set is not among the documents"):
        TextRanker(folder, documents={}).fit(data)
    with pytest.raises(ValueError, match=r"use predict\(dataset\)"):
        fitted.predict(np.zeros((2, 3)))
    with pytest.raises(FileNotFoundError, match="rankloop encoders get minilm-full"):
        TextRanker(str(tmp_path / "none"), documents=documents).fit(data)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileNotFoundError, match=r"for the folder here write \./mine"):
        TextRanker("mine", documents=documents).fit(data)
    for name, value in {
        "epochs": 0,
        "accumulate": 0,
        "learning_rate": 0,
        "warmup": 1.0,
        "dropout": -1,
    }.items():
        with pytest.raises(ValueError, match=name):
            TextRanker(folder, documents=documents, **{name: value}).fit(data)
    with pytest.raises(ValueError, match="precision"):
        TextRanker(folder, documents=documents, precision="int4").fit(data)


def test_onnx_weights_are_not_trained_and_the_error_says_what_is(folder, judged, tmp_path, monkeypatch):
    data, documents = judged
    monkeypatch.setenv("RANKLOOP_ENCODERS", str(tmp_path))
    (tmp_path / "minilm").mkdir()
    (tmp_path / "minilm" / "model.onnx").write_bytes(b"int8")
    (tmp_path / "minilm" / "tokenizer.json").write_text("{}")
    wanted = r"minilm holds an ONNX model.*rankloop encoders get minilm-full"
    with pytest.raises(FileNotFoundError, match=wanted):
        TextRanker("minilm", documents=documents).fit(data)
    shutil.copytree(folder, tmp_path / "minilm-full")
    assert TextRanker("minilm", documents=documents).open().scores("red hat", ["hat"]).shape == (1,)
    (tmp_path / "minilm-full" / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"no model.safetensors.*an ONNX model is not trained here"):
        TextRanker("minilm", documents=documents).fit(data)


def test_pairs_that_the_loss_would_ignore_are_refused(folder, judged):
    data, documents = judged
    pairs = data.replace(pairs=Preferences(np.array([1]), np.array([0])))
    with pytest.raises(ValueError, match="listnet would ignore the pairs"):
        TextRanker(folder, documents=documents, loss="listnet").fit(pairs)


def test_damaged_checkpoints_are_refused(folder, judged, tmp_path):
    data, documents = judged

    def broken(name, change):
        made = tiny_bert.checkpoint(tmp_path / name)
        change(made)
        return TextRanker(str(made), documents=documents)

    def cut(made):
        whole = (made / "model.safetensors").read_bytes()
        (made / "model.safetensors").write_bytes(whole[: len(whole) // 2])

    def other_size(made):
        config = json.loads((made / "config.json").read_text())
        (made / "config.json").write_text(json.dumps(config | {"intermediate_size": 63}))

    with pytest.raises(ValueError, match="damaged or not a safetensors file"):
        broken("cut", cut).fit(data)
    with pytest.raises(ValueError, match=r"do not fit config\.json"):
        broken("size", other_size).fit(data)
    with pytest.raises(FileNotFoundError, match=r"a \.bin file is a pickle"):
        broken("none", lambda made: (made / "model.safetensors").unlink()).fit(data)
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read"):
        broken("words", lambda made: (made / "tokenizer.json").write_text("{}")).fit(data)
    with pytest.raises(ValueError, match="into 3 classes"):
        TextRanker(str(tiny_bert.checkpoint(tmp_path / "three", classes=3)), documents=documents).fit(data)


@settings(max_examples=30, deadline=None)
@given(at=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(tmp_path_factory, at, byte):
    path = tmp_path_factory.mktemp("changed") / "x.safetensors"
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(0)}
    tiny_bert.write_safetensors(path, tensors | {"c": torch.ones(2, dtype=torch.bfloat16)})
    whole = bytearray(path.read_bytes())
    whole[at % len(whole)] = byte
    path.write_bytes(bytes(whole))
    try:
        read_safetensors(path)
    except ValueError as error:
        assert "damaged" in str(error)  # noqa: PT017


# Pipelines


@pytest.fixture
def index(tmp_path, judged):
    made = Index.create(tmp_path / "index", {"title": "text", "about": "text"})
    made.add({"id": id, **document} for id, document in judged[1].items())
    made.commit()
    return made


def test_a_stage_orders_the_first_and_leaves_the_rest(index, fitted):
    found = index.retriever(k=20)("the shoe")
    again = (index.retriever(k=20) >> rerank(fitted, k=5))("the shoe")
    assert set(again.ids[:5]) == set(found.ids[:5])
    assert again.ids[5:].tolist() == found.ids[5:].tolist()
    assert (np.diff(again.scores) <= 0).all()
    whole = (index.retriever(k=20) >> fitted)("the shoe")
    texts = [index[id]["title"] + "\n" + index[id]["about"] for id in whole.ids.tolist()]
    np.testing.assert_allclose(whole.scores, fitted.scores("the shoe", texts), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="k=1"):
        rerank(fitted, k=0)


def test_a_pipeline_is_fitted_saved_and_loaded(index, folder, judged, tmp_path):
    from rankloop.search import load_pipeline

    data, documents = judged
    queries = {str(qid): "the shoe" for qid in data.qid[:4]}
    qrels = {
        str(qid): {
            data.docid[row]: float(data.y[row]) for row in range(data.offsets[at], data.offsets[at + 1])
        }
        for at, qid in enumerate(data.qid[:4])
    }
    ranker = TextRanker(folder, documents=documents, **QUICK)
    search = (index.retriever(k=20) >> ranker).fit(queries, qrels)
    search.save(tmp_path / "search")
    again = load_pipeline(tmp_path / "search", index)
    assert again("the shoe").ids.tolist() == search("the shoe").ids.tolist()


def test_the_score_is_a_feature(index, fitted):
    features = Features(["bm25(title)", text_score(fitted, k=3)])
    found = index.retriever(k=6)("the shoe")
    column = features.matrix(found)[:, 1]
    assert np.isnan(column[3:]).all()
    texts = [index[id]["title"] + "\n" + index[id]["about"] for id in found.ids[:3].tolist()]
    np.testing.assert_allclose(column[:3], fitted.scores("the shoe", texts), rtol=1e-3, atol=1e-3)
    assert features.names == ("bm25(title)", "text_score")
    before = features.version
    with torch.no_grad():
        fitted.module_.head.weight += 0.5
    assert Features(["bm25(title)", text_score(fitted, k=3)]).version != before
    with torch.no_grad():
        fitted.module_.head.weight -= 0.5


# ONNX


@pytest.mark.parametrize("classes", [0, 2])
def test_onnx_gives_the_same_scores(tmp_path, classes):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    folder = tiny_bert.checkpoint(tmp_path / "bert", classes=classes)
    ranker = TextRanker(str(folder), device="cpu").open()
    texts = ["great hat", "awful shoe sock hat red", "a"]
    own = sys.modules["tokenizers"].Tokenizer.from_str(tiny_bert.tokenizer())
    own.enable_padding()
    read = own.encode_batch([("red hat", text) for text in texts])
    given = {
        "input_ids": np.array([one.ids for one in read]),
        "attention_mask": np.array([one.attention_mask for one in read]),
        "token_type_ids": np.array([one.type_ids for one in read]),
    }
    wanted = ranker.scores("red hat", texts)
    (found,) = runtime.InferenceSession(to_onnx(ranker)).run(None, given)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    small = to_onnx(ranker, tmp_path / "small.onnx", int8=True)
    assert len(small) < len(to_onnx(ranker))
    (found,) = runtime.InferenceSession(small).run(None, given)
    np.testing.assert_allclose(found, wanted, atol=0.1 * max(np.ptp(wanted), 0.3))


def test_int8_is_for_texts_alone():
    from rankloop.rankers import RankSVM

    ranker = RankSVM().fit([[1.0], [0.0]], [1, 0], qid=[0, 0])
    with pytest.raises(ValueError, match="int8 weights are for a TextRanker"):
        to_onnx(ranker, int8=True)


def test_fields_choose_what_is_read(folder):
    documents = {1: {"title": "good hat", "price": 3, "tags": ["red", "new"]}, 2: "just a text"}
    from rankloop.rankers.text.documents import document_text

    assert document_text(documents, 1, None) == "good hat\nred new"
    assert document_text(documents, "1", ["tags", "missing", "title"]) == "red new\ngood hat"
    assert document_text(documents, np.str_("2"), None) == "just a text"
    data = RankingDataset(np.zeros((2, 0)), [1, 0], [0, 0], docid=[1, 2], query_text=["red", "red"])
    assert TextRanker(folder, documents=documents, **QUICK).fit(data).predict(data).shape == (2,)
