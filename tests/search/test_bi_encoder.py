"""TwoTower on a checkpoint, and late interaction: the loss and the scores against plain loops."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_bert
from rankloop.data import synthetic
from rankloop.rankers import LinearRanker
from rankloop.search import Features, Index, LateInteraction, TwoTower, first, load_pipeline
from rankloop.search.late_interaction import max_sim

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers", reason="the extra text is not installed")

from rankloop.rankers.text.bi_encoder import BiEncoder  # noqa: E402 - needs torch
from rankloop.rankers.text.tokens import Texts, Tokenizer  # noqa: E402
from rankloop.search.encoders.towers import contrastive  # noqa: E402

COLOURS, THINGS = ("red", "blue", "green"), ("hat", "shoe", "sock")
# What people type and what the documents say have no word in common.
SAID = {"red": "one", "blue": "two", "green": "three", "hat": "four", "shoe": "five", "sock": "six"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_bert.checkpoint(tmp_path_factory.mktemp("bert")))


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    index = Index.create(tmp_path_factory.mktemp("shop") / "index", {"title": "text"})
    index.add(
        {"id": f"{colour} {thing}", "title": f"the {colour} {thing}"}
        for colour in COLOURS
        for thing in THINGS
    )
    index.commit()
    queries = {f"{c} {t}": f"{SAID[c]} {SAID[t]}" for c in COLOURS for t in THINGS}
    return index, queries, {qid: {qid: 1.0} for qid in queries}


def test_a_checkpoint_learns_to_match(folder, shop, tmp_path):
    index, queries, qrels = shop
    settings = {"epochs": 60, "batch": 9, "learning_rate": 3e-3, "negatives": 2, "device": "cpu"}
    tower = TwoTower(folder, widths=(8, 16), **settings).fit(index, queries, qrels)
    assert tower.dimension == 32
    documents = [{"title": f"the {id}"} for id in queries]
    wholes = tower.encode_queries(list(queries.values())) @ tower.encode_documents(documents).T
    assert (wholes.argmax(1) == np.arange(9)).all()
    short = tower.cut(8)
    cut = short.encode_queries(list(queries.values()))
    assert cut.shape == (9, 8)
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1), 1, rtol=1e-5)
    assert ((cut @ short.encode_documents(documents).T).argmax(1) == np.arange(9)).mean() > 0.7
    assert short.fingerprint != tower.fingerprint
    tower.save(tmp_path / "tower")
    again = TwoTower.load(tmp_path / "tower")
    np.testing.assert_array_equal(again("one four"), tower("one four"))
    assert again.fingerprint == tower.fingerprint
    with pytest.raises(ValueError, match="widths"):
        tower.cut(9)


def test_wrong_widths_and_checkpoints_are_refused(folder, shop, tmp_path):
    with pytest.raises(ValueError, match="widths lie between 1 and the dimension 32, got 33"):
        TwoTower(folder, widths=(33,), epochs=1, device="cpu").fit(*shop)
    with pytest.raises(FileNotFoundError, match="no pretrained model"):
        TwoTower(str(tmp_path / "none")).fit(*shop)
    classifier = tiny_bert.checkpoint(tmp_path / "pairs", classes=2)
    with pytest.raises(ValueError, match="without a classifier"):
        TwoTower(str(classifier)).fit(*shop)


def naive_contrastive(queries, documents, target, hidden, temperature, widths, often):
    total = 0.0
    for width in widths:
        for at, query in enumerate(queries):
            logits = []
            for place, document in enumerate(documents):
                one, two = query[:width], document[:width]
                cosine = (one * two).sum() / np.sqrt((one**2).sum() * (two**2).sum())
                logit = cosine / temperature - (0 if often is None else np.log(often[place]))
                logits.append(-1e9 if hidden[at, place] else logit)
            logits = np.array(logits)
            top = logits.max()
            total += top + np.log(np.exp(logits - top).sum()) - logits[target[at]]
    return total / len(queries) / len(widths)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(2, 6), st.booleans(), st.integers(0, 999))
def test_the_loss_is_the_formula(queries, documents, corrected, seed):
    rng = np.random.default_rng(seed)
    q, d = rng.normal(size=(queries, 6)), rng.normal(size=(documents, 6))
    target = rng.integers(0, documents, queries)
    hidden = rng.random((queries, documents)) < 0.3
    hidden[np.arange(queries), target] = False
    often = rng.uniform(0.01, 1, documents) if corrected else None
    found = contrastive(
        torch.tensor(q),
        torch.tensor(d),
        torch.tensor(target),
        torch.tensor(hidden),
        temperature=0.2,
        widths=[2, 6],
        often=often,
    )
    wanted = naive_contrastive(q, d, target, hidden, 0.2, [2, 6], often)
    assert found.item() == pytest.approx(wanted, rel=1e-6)


def test_popular_documents_are_not_pushed_away_for_being_shown():
    """By hand: two documents of equal cosine, one of them in every batch, the other in a tenth."""
    same = torch.ones(1, 2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.float64)
    rest = torch.tensor([0]), torch.zeros(1, 2, dtype=torch.bool)
    plain = contrastive(*same, *rest, temperature=1.0, widths=[2], often=None)
    shifted = contrastive(*same, *rest, temperature=1.0, widths=[2], often=np.array([0.1, 1.0]))
    assert plain.item() == pytest.approx(np.log(2))
    assert shifted.item() == pytest.approx(np.log(1 + 0.1))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(tiny_bert.WORDS[:13]), max_size=9).map(" ".join), min_size=1, max_size=5
    )
)
def test_texts_are_read_as_the_tokenizer_does(texts):
    read = Texts(Tokenizer(tiny_bert.tokenizer()), texts, limit=8)
    own = sys.modules["tokenizers"].Tokenizer.from_str(tiny_bert.tokenizer())
    own.enable_truncation(max_length=8)
    found = read.packed(np.arange(len(texts)))
    assert found.tokens.tolist() == [id for text in texts for id in own.encode(text).ids]
    assert found.types.tolist() == [0] * len(found.tokens)


def test_a_vector_is_the_mean_of_its_tokens(folder):
    encoder = BiEncoder.open(folder, tokens=16, device="cpu")
    texts = ["red hat", "a", "the blue shoe four five six"]
    together = encoder.encode(texts)
    np.testing.assert_allclose(together, [encoder.encode([text])[0] for text in texts], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    assert [len(one) for one in encoder.token_vectors(texts)] == [4, 3, 8]


# Late interaction


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 999))
def test_max_sim_is_the_formula(words, lengths, seed):
    rng = np.random.default_rng(seed)
    query = rng.normal(size=(words, 4)).astype(np.float32)
    codes = rng.integers(-127, 128, (sum(lengths), 4)).astype(np.int8)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    wanted = [
        sum(max(float(one @ codes[row]) / 127 for row in range(low, high)) for one in query)
        for low, high in pairwise(offsets)
    ]
    np.testing.assert_allclose(max_sim(query, codes, offsets), wanted, rtol=1e-4, atol=1e-4)


def test_late_interaction_orders_the_first_and_is_saved(folder, shop, tmp_path):
    index = shop[0]
    late = LateInteraction(folder, k=4, device="cpu").add(index)
    assert late.bytes_per_document == pytest.approx(5 * 32)  # [CLS] the red hat [SEP]
    assert "9 texts of 160 bytes" in repr(late)
    found, again = index.retriever(k=9)("red blue green"), (index.retriever(k=9) >> late)("red blue green")
    assert len(found) == 9
    assert set(again.ids[:4]) == set(found.ids[:4])
    assert again.ids[4:].tolist() == found.ids[4:].tolist()
    assert (np.diff(again.scores) <= 0).all()
    late.save(tmp_path / "late")
    loaded = LateInteraction.load(tmp_path / "late")
    loaded.device = "cpu"
    assert (index.retriever(k=9) >> loaded)("red blue green").ids.tolist() == again.ids.tolist()
    with pytest.raises(ValueError, match="k=1"):
        LateInteraction(folder, k=0)


def test_a_pipeline_with_late_interaction_is_saved(folder, shop, tmp_path):
    index = shop[0]
    late = LateInteraction(folder, k=4, fields=["title"], device="cpu").add(index)
    search = index.retriever(k=9) >> late >> first(5)
    search.save(tmp_path / "search")
    again = load_pipeline(tmp_path / "search", index, exact=True)
    assert "9 texts of 160 bytes" in repr(again)
    again.stages[1].device = "cpu"
    for query in ("red blue green", "the sock"):
        one, two = search(query), again(query)
        assert one.ids.tolist() == two.ids.tolist()
        np.testing.assert_array_equal(one.scores, two.scores)
    assert again.fingerprint == search.fingerprint
    other = index.retriever(k=9) >> LateInteraction(folder, k=3, device="cpu").add(index) >> first(5)
    assert other.fingerprint != search.fingerprint
    ranker = LinearRanker().fit(synthetic(n_queries=5, docs_per_query=4, n_features=1, seed=0))
    whole = index.retriever(k=9) >> Features(["bm25(title)"]) >> ranker >> late >> first(5)
    whole.save(tmp_path / "whole")
    loaded = load_pipeline(tmp_path / "whole", index, exact=True)
    assert loaded("red sock").ids.tolist() == whole("red sock").ids.tolist()
    assert whole.fingerprint not in (search.fingerprint, other.fingerprint)


def test_damaged_vectors_are_refused(folder, shop, tmp_path):
    late = LateInteraction(folder, device="cpu").add(shop[0])
    late.offsets = late.offsets + 1
    late.save(tmp_path / "late")
    with pytest.raises(ValueError, match="its vectors do not fit its documents; add the index"):
        LateInteraction.load(tmp_path / "late")
    with pytest.raises(ValueError, match="its vectors do not fit its documents; add the index"):
        LateInteraction.from_bytes(late.to_bytes())


def test_the_same_text_matches_itself_best(folder, shop):
    index = shop[0]
    late = LateInteraction(folder, device="cpu").add(index)
    best = (index.retriever(k=9) >> late)("the green sock").ids[0]
    assert best == "green sock"


def test_a_changed_document_gets_new_vectors(folder, tmp_path):
    index = Index.create(tmp_path / "index", {"title": "text"})
    index.add([{"id": 1, "title": "the red hat"}, {"id": 2, "title": "the blue shoe"}])
    index.commit()
    late = LateInteraction(folder, device="cpu").add(index)
    index.update([{"id": 1, "title": "the green sock"}])
    index.add([{"id": 3, "title": "the red hat"}])
    index.commit()
    found = index.retriever(k=9)("red blue green")
    fresh = LateInteraction(folder, device="cpu").add(index)
    assert len(found) == 3
    np.testing.assert_allclose(late.scores(found), fresh.scores(found), rtol=1e-5)
    assert late.scores(index.retriever()("nothing")).shape == (0,)
