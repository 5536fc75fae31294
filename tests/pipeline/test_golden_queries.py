"""Golden queries of the starter corpus, with contexts and without; what is kept of them, and in which folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.served_cross_encoder import cross_encoder_folder

from cocite.artifacts import publish
from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.starter import PAPERS, build_starter, starter_corpus
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite.pipeline import components
from cocite.pipeline.golden_answers import GoldenError, correlations, overlap
from cocite.pipeline.golden_queries import (
    FILE,
    FOLDER,
    KIND,
    GoldenQueries,
    GoldenQuery,
    are_missing,
    choose_queries,
    make_golden_queries,
)
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model folder with a cross-encoder, and an index."""
    folder = tmp_path_factory.mktemp("golden")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return cross_encoder_folder(folder), folder / "index"


def alive(corpus: Corpus) -> np.ndarray:
    return np.ones(len(corpus), bool)


def test_half_of_the_queries_are_gaps_and_all_differ() -> None:
    corpus = starter_corpus()
    queries = choose_queries(corpus, alive(corpus), 10)
    assert len(queries) == len({(query.paper, query.context) for query in queries}) == 10
    assert [bool(query.context) for query in queries] == 5 * [True, False]
    known = set(corpus.contexts.take("text", np.arange(len(corpus.contexts))))
    assert all(query.context in known for query in queries if query.context)


def test_gaps_are_made_of_abstracts_where_a_corpus_has_no_contexts(tmp_path: Path) -> None:
    corpus = build(NativeJSONL(PAPERS), tmp_path / "corpus")
    queries = choose_queries(corpus, alive(corpus), 10)
    assert [bool(query.context) for query in queries] == 5 * [True, False]
    assert all(query.context.endswith("[CIT].") and query.abstract for query in queries if query.context)


def test_removed_papers_do_not_ask() -> None:
    corpus = starter_corpus()
    left = np.zeros(len(corpus), bool)
    left[:60] = True
    queries = choose_queries(corpus, left, 4)
    assert queries
    assert all(corpus.row(query.paper) < 60 for query in queries)
    with pytest.raises(InputError, match="has no text that golden queries could be made of"):
        choose_queries(corpus, np.zeros(len(corpus), bool), 4)


def test_a_query_of_a_paper_that_an_index_does_not_have_is_one_from_outside() -> None:
    query = GoldenQuery("g", "no-such-paper", "A title", year=0).query(starter_corpus())
    assert (query.paper, query.year, query.is_local) == (-1, None, False)


def test_a_model_folder_keeps_them_and_stays_the_same_model(folders: tuple[Path, Path]) -> None:
    model, index = folders
    version, names = components.version(model), components.list_components(model)
    made = make_golden_queries(model, index, 4)
    assert (components.version(model), components.list_components(model)) == (version, names)
    components.verify(model)
    kept = GoldenQueries.open(model)
    assert kept is not None
    assert (kept.queries, kept.model) == (made.queries, version)
    known = starter_corpus().ids(range(423))
    assert overlap(made.answers, kept.answers, known) == 1
    assert correlations(made.answers, kept.answers)["cross-encoder"] == pytest.approx(1)
    again = GoldenQueries.make(Recommender.load(model, index), 4)
    assert overlap(kept.answers, again.answers, known) == 1
    text = (model / FOLDER / FILE).read_text()
    assert "NaN" not in text
    assert max(len(query["expected"]) for query in json.loads(text)) == 10


def test_a_folder_without_them_has_none(tmp_path: Path) -> None:
    assert GoldenQueries.open(tmp_path) is None
    with pytest.raises(NotFoundError, match="no such model folder"):
        make_golden_queries(tmp_path / "nothing", tmp_path)


def test_what_is_damaged_or_no_list_of_them_is_refused(tmp_path: Path) -> None:
    with publish(tmp_path / FOLDER, kind=KIND, meta={}) as folder:
        (folder / FILE).write_text('[{"id": "g"}]')
    with pytest.raises(IntegrityError, match="is not a list of golden queries: KeyError"):
        GoldenQueries.open(tmp_path)
    (tmp_path / FOLDER / FILE).write_text('[{"id": "h"}]')
    with pytest.raises(CociteError, match=r"golden/queries\.json: damaged"):
        GoldenQueries.open(tmp_path)


def test_a_model_whose_answers_are_unsound_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    recommender = Recommender.over(None, Index.build(starter_corpus(), History.all(starter_corpus())))
    monkeypatch.setattr(recommender, "recommend", lambda query, options: [])
    with pytest.raises(GoldenError, match="no golden query was answered"):
        GoldenQueries.make(recommender, 2)


def test_a_model_that_was_trained_on_keeps_none_of_its_own(tmp_path: Path) -> None:
    index = tmp_path / "index"
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), index)
    model = cross_encoder_folder(tmp_path)
    assert are_missing(model)
    make_golden_queries(model, index, 2)
    assert not are_missing(model)
    with publish(model / "blend", kind="blend", meta={}) as folder:
        (folder / "blend.json").write_text("{}")
    assert are_missing(model), "they are those of the model before"
