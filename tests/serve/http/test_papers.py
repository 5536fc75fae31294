from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.api_backend import InProcess, client

from cocite.corpus.starter import build_starter
from cocite.errors import NotFoundError
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import VersionedFolder
from cocite_serve.http.papers import Papers


def test_removed_papers_are_not_found(backend: InProcess) -> None:
    alive = backend.papers.alive.copy()
    id_ = backend.papers.corpus.ids([0])[0]
    assert client(backend).get(f"/v1/papers/{id_}").status_code == 200
    alive[0] = False
    backend.papers, whole = Papers(backend.papers.corpus, alive), backend.papers
    try:
        assert client(backend).get(f"/v1/papers/{id_}").status_code == 404
        assert client(backend).get("/v1/health").json()["papers"] == len(whole) - 1
    finally:
        backend.papers = whole


def test_rows_records_and_citations_are_those_of_the_corpus(backend: InProcess) -> None:
    papers, corpus = backend.papers, backend.papers.corpus
    ids = corpus.ids([5, 3])
    assert papers.rows([*ids, "no-such-paper", ids[0]]).tolist() == [5, 3, -1, 5]
    assert [record.title for record in papers.records(ids)] == [corpus.paper(5).title, corpus.paper(3).title]
    citing = [sum(row in corpus.cites[i] for i in range(len(corpus))) for row in (5, 3)]
    assert papers.in_citations([5, 3]) == citing
    with pytest.raises(NotFoundError, match="no paper has the id 'no-such-paper'"):
        papers.records([ids[0], "no-such-paper"])


def test_papers_are_named_by_other_ids_too_and_removed_ones_are_not_found(backend: InProcess) -> None:
    corpus = backend.papers.corpus
    row = next(row for row in range(len(corpus)) if corpus.paper(row).doi)
    names = [corpus.ids([row])[0], f"https://doi.org/{corpus.paper(row).doi}", "no-such-paper"]
    assert backend.papers.named(names).tolist() == [row, row, -1]
    alive = backend.papers.alive.copy()
    alive[row] = False
    assert Papers(corpus, alive).named(names).tolist() == [-1, -1, -1]


def test_the_years_are_those_of_papers_that_are_alive(backend: InProcess) -> None:
    corpus = backend.papers.corpus
    alive = corpus.years >= 2010
    assert Papers(corpus, alive).years == (int(corpus.years[alive].min()), int(corpus.years.max()))
    assert Papers(corpus, np.zeros(len(corpus), bool)).years is None


def test_an_open_snapshot_is_not_deleted(tmp_path: Path) -> None:
    index = tmp_path / "index"
    corpus = build_starter(tmp_path / "corpus")
    IndexSnapshot.create(corpus, index)
    papers = Papers.open(index, "000001")
    for id_ in corpus.ids(range(3)):
        IndexSnapshot.remove(index, [id_])
    assert VersionedFolder(index).names() == ["000001", "000003", "000004"]
    assert len(papers) == len(corpus)
    assert len(Papers.open(index, "000004")) == len(corpus) - 3


def test_the_links_that_are_known_are_those_of_the_snapshot(tmp_path: Path) -> None:
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "index", known_until=2010)
    papers = Papers.open(tmp_path / "index", "000001")
    known = papers.history.citing
    assert 0 < known.sum() < len(known)
    np.testing.assert_array_equal(papers.history.citing, papers.history.until(papers.corpus, 2010).citing)
