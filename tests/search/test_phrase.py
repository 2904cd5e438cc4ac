"""Phrases against plain loops over the words of each text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.search import Index

WORDS = st.lists(st.sampled_from(["ant", "bee", "cat", "the"]), min_size=1, max_size=9)


def has_phrase(words, phrase):
    """Whether the phrase stands in the text; where it has a stop word, any word or the edge may stand."""
    for start in range(-len(phrase), len(words)):
        pairs = [(words[start + i] if 0 <= start + i < len(words) else None, w) for i, w in enumerate(phrase)]
        if all(there == wanted for there, wanted in pairs if wanted != "the"):
            return True
    return False


@settings(max_examples=60)
@given(
    st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6),
    st.lists(st.sampled_from(["ant", "bee", "cat", "the"]), min_size=1, max_size=4),
)
def test_phrases_equal_plain_loops(tmp_path_factory, texts, phrase):
    index = Index.create(tmp_path_factory.mktemp("phrase") / "i", {"title": "text", "body": "text"})
    for i, (title, body) in enumerate(texts):
        index.add([{"id": i, "title": " ".join(title), "body": " ".join(body)}])
        if i % 2:
            index.commit()
    index.commit()
    query = f'"{" ".join(phrase)}"'
    found = index.retriever()(query).ids.tolist()
    content = set(phrase) != {"the"}
    wanted = [i for i, fields in enumerate(texts) if any(has_phrase(words, phrase) for words in fields)]
    assert sorted(found) == (wanted if content else [])
    titles = index.retriever()(f"title:{query}").ids.tolist()
    wanted = [i for i, (title, _) in enumerate(texts) if has_phrase(title, phrase)]
    assert sorted(titles) == (wanted if content else [])
    without = index.retriever(k=99)(f"ant bee cat -{query}").ids.tolist()
    assert not content or not set(without) & set(found)
