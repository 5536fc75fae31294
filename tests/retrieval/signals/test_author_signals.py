"""Authors and venues: against counts made paper by paper."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.author_signals import AuthorSignals
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.retrieval.signals.sparse_scores import SparseScores

AUTHORS = ("Ada Lovelace", "ada lovelace ", "Grace Hopper", "Bo Li", "Émile Hopper", "Plato", "Zoë Ångström")
VENUES = ("ACL", "EMNLP", "acl", "")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """60 papers with up to four authors, some without."""
    rng = np.random.default_rng(3)
    papers = []
    for i in range(60):
        authors = tuple(rng.choice(AUTHORS, rng.integers(0, 5)).tolist())
        cited = tuple(f"p{j}" for j in rng.permutation(i)[:5].tolist())
        venue = str(rng.choice(VENUES))
        papers.append(
            PaperRecord(
                f"p{i}", f"Title {i}", "", 2000 + i // 6, venue=venue, authors=authors, citations=cited
            )
        )
    return build(papers, tmp_path_factory.mktemp("authors") / "store")


def index_of(corpus: Corpus, history: History) -> Index:
    return Index(corpus, history, np.ones(len(corpus), bool), {}, Bm25Index.build([]))


def names(authors: tuple[str, ...]) -> set[str]:
    return {author.strip().lower() for author in authors}


@pytest.mark.parametrize("until", [2004, 2100])
def test_counts_equal_those_made_paper_by_paper(corpus: Corpus, until: int) -> None:
    history = History.until(corpus, until)
    index = index_of(corpus, history)
    signals = AuthorSignals(index)
    papers = [corpus.paper(row) for row in range(len(corpus))]
    queries = [
        Query("known", title="x", authors=papers[12].authors, venue=papers[12].venue, paper=12),
        Query("unknown", title="x", authors=("GRACE hopper", "Nobody"), venue="ACL"),
        Query("nameless", title="x", venue="Elsewhere"),
        *(Query(p.id, title="x", authors=p.authors, venue=p.venue, paper=i) for i, p in enumerate(papers)),
    ]
    own = SelfCitations(index, queries)
    shared, past, interest = (
        matrix.dense()
        for matrix in (
            signals.shared_authors(queries),
            signals.past_citations(queries, own),
            signals.venue_interest(queries, own),
        )
    )
    for i, query in enumerate(queries):
        wanted = names(query.authors)
        expected = [len(wanted & names(paper.authors)) for paper in papers]
        assert shared[i].tolist() == expected
        cited = np.zeros((2, len(papers)))
        for row, paper in enumerate(papers):
            if row != query.paper:
                cited[0, history.cites[row]] += expected[row]
                cited[1, history.cites[row]] += bool(query.venue) and paper.venue == query.venue
        assert past[i].tolist() == cited[0].tolist()
        assert interest[i].tolist() == cited[1].tolist()


def test_surnames_weigh_by_rarity(corpus: Corpus) -> None:
    signals = AuthorSignals(index_of(corpus, History.all(corpus)))
    papers = [names(corpus.paper(row).authors) for row in range(len(corpus))]
    weights = signals.names_in(["as Hopper showed, and Li", "hopper in small letters"]).dense()
    bears = np.array([any(name.endswith(" hopper") for name in own) for own in papers])
    assert weights[0, bears] == pytest.approx(np.log(60 / bears.sum()))
    assert not weights[0, ~bears].any()
    assert not weights[1].any()


def test_papers_of_authors(corpus: Corpus) -> None:
    signals = AuthorSignals(index_of(corpus, History.all(corpus)))
    expected = [row for row in range(60) if "ada lovelace" in names(corpus.paper(row).authors)]
    assert signals.papers_of(["ADA Lovelace", "Nobody"]).tolist() == expected


def test_a_corpus_without_authors(tmp_path: Path) -> None:
    for name, papers in (("empty", []), ("bare", [PaperRecord("a", "Title", "", 2000)])):
        corpus = build(papers, tmp_path / name)
        signals = AuthorSignals(index_of(corpus, History.all(corpus)))
        query = [Query("q", title="x", authors=("Plato",), venue="ACL", paper=NO_ROW)]
        assert signals.shared_authors(query).shape == (1, len(papers))
        assert not signals.names_in(["Plato"]).papers.size


@given(
    st.lists(st.text(st.sampled_from("abΣİé \t.")) | st.sampled_from(AUTHORS), max_size=5), st.integers(0, 70)
)
def test_signals_are_those_of_dictionaries(corpus: Corpus, authors: list[str], paper: int) -> None:
    """A transcription by sets and dictionaries, for any authors, with and without the query's own paper."""
    signals = signals_of(corpus)
    history, venue = signals.index.history, VENUES[paper % 4]
    query = Query("q", title="x", authors=tuple(authors), venue=venue, paper=paper if paper < 60 else NO_ROW)
    own = SelfCitations(signals.index, [query])
    by_author, by_surname = defaultdict(set), defaultdict(set)
    past, interest = Counter[int](), Counter[int]()
    for row in range(60):
        record = corpus.paper(row)
        for name in names(record.authors) - {""}:
            by_author[name].add(row)
            by_surname[name.split()[-1]].add(row)
        if row != paper:
            shared = len(names(record.authors) & names(query.authors) - {""})
            past.update({int(cited): shared for cited in history.cites[row]} if shared else {})
            interest.update(history.cites[row].tolist() if venue and record.venue == venue else ())
    shared_papers = Counter(row for name in names(query.authors) for row in by_author.get(name, ()))
    assert as_dict(signals.shared_authors([query])) == dict(shared_papers)
    assert as_dict(signals.past_citations([query], own)) == dict(past)
    assert {row: n for row, n in as_dict(signals.venue_interest([query], own)).items() if n} == dict(interest)
    assert signals.papers_of(authors).tolist() == sorted(shared_papers)
    words = {word.lower() for word in re.findall(r"\w{3,}", " ".join(authors)) if word[0].isupper()}
    weights = Counter[int]()
    for word in words:
        rows = by_surname.get(word, set())
        weights.update(dict.fromkeys(rows, float(np.float32(np.log(60 / max(len(rows), 1))))))
    assert as_dict(signals.names_in([" ".join(authors)])) == {
        row: np.float32(w) for row, w in weights.items()
    }


@cache
def signals_of(corpus: Corpus) -> AuthorSignals:
    return AuthorSignals(index_of(corpus, History.until(corpus, 2007)))


def as_dict(scores: SparseScores) -> dict[int, float]:
    assert (np.diff(scores.papers) > 0).all()
    return dict(zip(scores.papers.tolist(), scores.values.tolist(), strict=True))
