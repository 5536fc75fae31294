"""Authors and venues: against counts made paper by paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.author_signals import AuthorSignals
from cocite.retrieval.signals.self_citations import SelfCitations

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
