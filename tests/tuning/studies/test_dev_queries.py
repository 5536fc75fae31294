"""The queries of the studies without training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.learned_fusion.examples import reserved_queries
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.score_settings import ScoreSettings


def dev_of(store: Path, *, unseen: bool = False, **settings: object) -> DevQueries:
    return DevQueries(ScoreSettings.parse({"kind": "bm25", "queries": 80, **settings}), store, unseen=unseen)


def papers_of(dev: DevQueries) -> np.ndarray:
    return np.array([query.paper for query in dev.task.queries])


def test_no_manuscript_is_on_both_sides(store: Path) -> None:
    dev = dev_of(store)
    papers = papers_of(dev)
    assert 0 < dev.tuning_count < len(papers) == 80
    assert not set(papers[: dev.tuning_count]) & set(papers[dev.tuning_count :])


def test_the_seed_alone_decides_the_draw(store: Path) -> None:
    ids = [query.id for query in dev_of(store).task.queries]
    assert [query.id for query in dev_of(store, metrics=["MRR"]).task.queries] == ids
    assert [query.id for query in dev_of(store, seed=1).task.queries] != ids


def test_queries_are_of_dev_and_the_history_ends_before_it(store: Path) -> None:
    dev, corpus = dev_of(store), Corpus.open(store)
    all_dev = {query.id for query in tasks.build(corpus, "local", "dev").queries}
    assert {query.id for query in dev.task.queries} <= all_dev
    before = tasks.history_before(corpus, "dev")
    np.testing.assert_array_equal(dev.index.history.cites.indices, before.cites.indices)


def test_a_share_that_leaves_no_query_is_refused(store: Path) -> None:
    with pytest.raises(InputError, match="no query is left for the trials"):
        dev_of(store, queries=2, held_out=0.999)


def test_components_can_be_left_out(store: Path, model: Path) -> None:
    assert [encoder.name for encoder in dev_of(store, model=str(model)).encoders] == ["nnselect", "sentence"]
    without = dev_of(store, model=str(model), without=["nnselect"])
    assert [encoder.name for encoder in without.encoders] == ["sentence"]


def test_a_given_index_lends_its_word_statistics(store: Path, tmp_path: Path) -> None:
    from cocite.retrieval.engines.bm25_fields import Bm25Fields

    changed = Bm25Fields.parse({"text": {"k1": 3.0}})
    IndexSnapshot.create(Corpus.open(store), tmp_path / "index", before_split="dev", bm25=changed)
    assert dev_of(store, index=str(tmp_path / "index")).index.papers["text"].k1 == 3.0
    assert dev_of(store).index.papers["text"].k1 == 1.2


def test_an_index_in_shards_gives_the_signals_of_a_whole_one(
    store: Path, model: Path, tmp_path: Path
) -> None:
    from cocite.retrieval.engines.bm25_fields import Bm25Fields

    corpus, changed = Corpus.open(store), Bm25Fields.parse({"text": {"k1": 3.0}})
    options = {"before_split": "dev", "bm25": changed, "encoders": dev_of(store, model=str(model)).encoders}
    IndexSnapshot.create(corpus, tmp_path / "whole", **options)
    ShardedIndex.create(corpus, tmp_path / "shards", shards=3, **options)
    found = []
    for name in ("whole", "shards"):
        dev = dev_of(store, model=str(model), index=str(tmp_path / name))
        assert dev.index.papers["text"].k1 == 3.0
        found.append(dev.first_stage.search(dev.task.queries, 20))
    np.testing.assert_array_equal(found[0].rows, found[1].rows)
    np.testing.assert_allclose(found[0].scores, found[1].scores, rtol=1e-5)


def test_manuscripts_of_the_learned_fusion_are_left_out(store: Path, model: Path) -> None:
    # The fixture's fusion was trained with reserve=0.6 and seed 0: the manuscripts that it left are known.
    papers = np.array(
        [query.paper for query in tasks.build(Corpus.open(store), "local", "dev").queries], np.int32
    )
    left = set(papers[reserved_queries(papers, 0.6, 0)])
    assert not set(papers_of(dev_of(store, model=str(model)))) <= left
    assert set(papers_of(dev_of(store, model=str(model), unseen=True))) <= left
