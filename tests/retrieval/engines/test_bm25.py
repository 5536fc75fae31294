"""BM25: against the bm25s library, against itself in other orders, read again from files, and on the ACL corpus."""

from __future__ import annotations

import uuid
from pathlib import Path

import bm25s
import numpy as np
import pyarrow.parquet as pq
import pytest
from bm25s.stopwords import STOPWORDS_EN
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_files import load_group, save_group
from cocite.retrieval.index.documents import paper_texts
from cocite.text.tokens import STOP_WORDS, WordTokenizer

WORDS = ["parsing", "treebank", "graph", "neural", "the", "of", "émile", "x1", "model", "a", "naïve"]
text = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
texts = st.lists(text, min_size=1, max_size=12)


def reference(documents: list[str], queries: list[str], k1: float, b: float) -> np.ndarray:
    """The scores that the bm25s library gives."""
    tokenizer = bm25s.tokenization.Tokenizer(stopwords="english")
    ids = tokenizer.tokenize(documents, update_vocab=True, show_progress=False, allow_empty=False)
    engine = bm25s.BM25(method="lucene", k1=k1, b=b)
    engine.index((ids, tokenizer.get_vocab_dict()), show_progress=False, create_empty_token=False)
    asked = tokenizer.tokenize(queries, update_vocab=False, show_progress=False, allow_empty=False)
    nothing = np.zeros(len(documents), np.float32)
    return np.stack([engine.get_scores_from_ids(query) if query else nothing for query in asked])


@given(
    texts.filter(lambda t: any(WordTokenizer().words(x) for x in t)),
    texts,
    st.sampled_from([(1.2, 0.75), (0.9, 0.4)]),
)
def test_scores_equal_those_of_bm25s(
    documents: list[str], queries: list[str], settings: tuple[float, float]
) -> None:
    k1, b = settings
    index = Bm25Index.build(documents, k1=k1, b=b)
    np.testing.assert_allclose(
        index.scores(queries), reference(documents, queries, k1, b), rtol=1e-5, atol=1e-6
    )


def test_words_and_documents_that_hold_nothing() -> None:
    index = Bm25Index.build(["graph model", "", "neural", "the of"])
    part = index.select([1, 2])
    assert (len(part.lists.lengths), part.lists.documents) == (3, 2)
    assert part.scores(["graph model"]).tolist() == [[0.0, 0.0]]
    assert part.scores(["neural"])[0, 1] > 0
    assert index.select(np.array([], np.int64)).scores(["graph"]).shape == (1, 0)
    grouped = index.grouped([0, 2], [3, 3], 5)
    assert np.flatnonzero(grouped.scores(["graph"])[0]).tolist() == [3]
    assert "" not in index.vocabulary
    assert not np.isnan(index.select([1, 3]).scores(["graph"])).any()


def test_stop_words_are_those_of_lucene_as_bm25s_has_them() -> None:
    assert STOP_WORDS["english"] == frozenset(STOPWORDS_EN)


def test_a_word_counts_as_often_as_it_occurs_in_the_query() -> None:
    index = Bm25Index.build(["graph parsing", "neural model"])
    once, thrice = index.scores(["graph", "graph graph graph"])
    np.testing.assert_allclose(thrice, 3 * once, rtol=1e-6)


@given(texts, texts)
def test_scores_do_not_depend_on_the_block(documents: list[str], queries: list[str]) -> None:
    index = Bm25Index.build(documents)
    together = index.scores(queries)
    alone = np.concatenate([index.scores([query]) for query in queries])
    np.testing.assert_array_equal(together, alone)


@given(texts, texts, st.data())
def test_at_gives_the_scores_of_candidates(
    documents: list[str], queries: list[str], data: st.DataObject
) -> None:
    index = Bm25Index.build(documents)
    row = st.integers(-1, len(documents) - 1)
    rows = np.array(
        data.draw(st.lists(st.tuples(row, row, row), min_size=len(queries), max_size=len(queries)))
    )
    full = index.scores(queries)
    expected = np.where(rows < 0, 0, np.take_along_axis(full, np.maximum(rows, 0), 1))
    np.testing.assert_allclose(index.at(queries, rows), expected, rtol=1e-5, atol=1e-6)


@given(texts, text, st.integers(1, 5))
def test_search_is_the_sorted_scores(documents: list[str], query: str, k: int) -> None:
    index = Bm25Index.build(documents)
    ranking = index.search([query], k)
    scores = index.scores([query])[0]
    order = np.argsort(-scores, kind="stable")[:k]
    np.testing.assert_array_equal(ranking.rows[0], order)
    np.testing.assert_array_equal(ranking.scores[0], scores[order])


@given(texts, text)
def test_shared_terms_add_up_to_the_score(documents: list[str], query: str) -> None:
    index = Bm25Index.build(documents)
    for row, score in enumerate(index.scores([query])[0]):
        terms = index.shared_terms(query, [row], limit=99)[0]
        assert sum(weight for _, weight in terms) == pytest.approx(float(score), rel=1e-5, abs=1e-6)
        held = set(index.tokenizer.words(documents[row])) & set(index.tokenizer.words(query))
        assert {word for word, _ in terms} == held
        assert [w for _, w in terms] == sorted((w for _, w in terms), reverse=True)


@given(texts, texts, texts)
def test_append_keeps_old_scores_and_frozen_statistics(
    old: list[str], new: list[str], queries: list[str]
) -> None:
    before = Bm25Index.build(old)
    after = before.append(new)
    assert len(after) == len(old) + len(new)
    known = [" ".join(w for w in before.tokenizer.words(q) if w in before.vocabulary) for q in queries]
    scores = after.scores(known)
    np.testing.assert_array_equal(scores[:, : len(old)], before.scores(known))
    # Appending in two steps or one is the same but for the idf of words that are new in both.
    step = before.append(new[:1]).append(new[1:])
    np.testing.assert_array_equal(step.scores(known), scores)


def test_append_finds_new_words_and_weighs_old_ones_by_the_old_statistics() -> None:
    before = Bm25Index.build(["graph parsing model", "neural model"])
    after = before.append(["graph transformer"])
    assert after.search(["transformer"], 1).rows[0, 0] == 2
    saturation = 1.2 * (0.25 + 0.75 * 2 / 2.5)
    assert after.scores(["graph"])[0, 2] == pytest.approx(np.log(2) / (1 + saturation), rel=1e-6)
    assert after.scores(["transformer"])[0, 2] == pytest.approx(
        np.log(1 + 2.5 / 1.5) / (1 + saturation), rel=1e-6
    )


@given(texts, texts, st.data())
def test_select_equals_a_build_of_the_chosen(
    documents: list[str], queries: list[str], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(documents) - 1), unique=True).map(sorted))
    part = Bm25Index.build(documents).select(np.array(chosen, np.int64))
    fresh = Bm25Index.build([documents[i] for i in chosen])
    np.testing.assert_allclose(part.scores(queries), fresh.scores(queries), rtol=1e-6)


@given(texts, texts)
def test_saved_and_loaded_it_is_the_same(tmp_path: Path, documents: list[str], queries: list[str]) -> None:

    folder = tmp_path / uuid.uuid4().hex
    index = Bm25Index.build(documents, k1=0.9)
    save_group({"index": index}, folder)
    loaded = load_group(folder, ["index"])["index"]
    assert (loaded.vocabulary, loaded.k1, loaded.mean_length) == (index.vocabulary, 0.9, index.mean_length)
    np.testing.assert_array_equal(loaded.scores(queries), index.scores(queries))
    np.testing.assert_array_equal(
        loaded.append(["graph zebra"]).scores(queries), index.append(["graph zebra"]).scores(queries)
    )
    assert not loaded.lists.weights.flags.writeable


def test_nothing_indexed_and_nothing_asked() -> None:
    index = Bm25Index.build([])
    assert index.scores(["graph"]).shape == (1, 0)
    assert index.search([], 3).rows.shape == (0, 0)
    assert Bm25Index.build(["", "the"]).scores(["graph"]).tolist() == [[0.0, 0.0]]
    assert index.append(["graph"]).scores(["graph"])[0, 0] > 0


def test_mistakes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="k1 = -1"):
        Bm25Index.build(["a"], k1=-1)
    with pytest.raises(InputError, match="english"):
        Bm25Index.build(["a"], stopwords="englsh")


@given(texts, texts, st.data())
def test_a_group_scores_as_one_long_text(
    documents: list[str], queries: list[str], data: st.DataObject
) -> None:
    member = st.tuples(st.integers(0, len(documents) - 1), st.integers(0, 3))
    pairs = data.draw(st.lists(member, unique=True))
    index = Bm25Index.build(documents)
    grouped = index.grouped([d for d, _ in pairs], [g for _, g in pairs], 4)
    joined = Bm25Index.build(" ".join(documents[d] for d, g in pairs if g == group) for group in range(4))
    np.testing.assert_allclose(grouped.scores(queries), joined.scores(queries), rtol=1e-6)


def test_key_terms_are_the_rare_and_the_repeated(corpus: Corpus) -> None:
    papers = Bm25Index.build(paper_texts(corpus, "text"))
    # "study7" occurs in one paper, "parsing" in many; unknown words and stop words are no terms.
    words = papers.key_terms(["parsing study7 parsing the study9 zebra"], 9)[0]
    assert sorted(words) == ["parsing", "study7", "study9"]
    assert papers.key_terms(["parsing study7 study9"], 2)[0] == ["study7", "study9"]
    mean = papers.counts.matrix()[:, papers.vocabulary["parsing"]].sum() / len(papers)
    many = next(n for n in range(1, 50) if n * np.log2((1 + mean) / mean) > 8)
    assert papers.key_terms([" ".join(["parsing"] * many + ["study7"])], 1)[0] == ["parsing"]


@pytest.mark.acl
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["title"], {"P@10": 0.083, "P@20": 0.061, "R@20": 0.140, "MRR": 0.267, "R@1000": 0.533}),
        (["title", "abstract"], {"P@10": 0.119, "P@20": 0.085, "R@20": 0.200, "MRR": 0.368, "R@1000": 0.629}),
    ],
)
def test_global_reference(acl: Path, fields: list[str], expected: dict[str, float]) -> None:
    papers = pq.read_table(acl / "papers.parquet", columns=["id", "title", "abstract", "year"]).to_pydict()
    links = pq.read_table(acl / "citations.parquet").to_pydict()
    row = {id_: i for i, id_ in enumerate(papers["id"])}
    answers: dict[int, list[int]] = {}
    for citing, cited in zip(links["citing"], links["cited"], strict=True):
        if papers["year"][row[citing]] >= 2011:
            answers.setdefault(row[citing], []).append(row[cited])
    assert len(answers) == 2177
    index = Bm25Index.build(
        f"{t} {a or ''}" for t, a in zip(papers["title"], papers["abstract"], strict=True)
    )
    queries = sorted(answers)
    texts = [" ".join(papers[field][query] or "" for field in fields) for query in queries]
    ranking = index.search(texts, 1001)
    values: dict[str, list[float]] = {name: [] for name in expected}
    for query, found in zip(queries, ranking.rows, strict=True):
        relevant = answers[query]
        hits = np.isin(found[found != query][:1000], relevant)
        places = np.flatnonzero(hits)
        values["MRR"].append(1 / (places[0] + 1) if len(places) else 0)
        for k in (10, 20):
            values[f"P@{k}"].append(float(hits[:k].mean()))
        values["R@20"].append(hits[:20].sum() / len(relevant))
        values["R@1000"].append(hits.sum() / len(relevant))
    measured = {name: float(np.mean(of)) for name, of in values.items()}
    assert measured == pytest.approx(expected, abs=0.005)
