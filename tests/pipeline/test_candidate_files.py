"""Candidates to train on, kept as an artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.candidate_sets import mine, save

from cocite.artifacts import verify
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import InputError, IntegrityError
from cocite.manifests import read_manifest
from cocite.pipeline.candidate_files import prepare
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.training.candidates import CandidateSet, CandidateSettings, load
from cocite.training.periods import Periods


def settings(**values: Any) -> CandidateSettings:
    small = {"years": 2, "queries": 60, "depth": 30, "dev_queries": 20, "dev_depth": 12}
    return CandidateSettings.parse({**small, "period": {"train_until": 2015, "dev_until": 2017}, **values})


@pytest.fixture(scope="module")
def periods(corpus: Corpus) -> Periods:
    return Periods.of(corpus, settings().period)


@pytest.fixture(scope="module")
def index(corpus: Corpus, periods: Periods) -> Index:
    return Index.build(corpus, periods.history)


def test_they_are_made_once_for_a_corpus_and_settings(corpus: Corpus, tmp_path: Path) -> None:
    folder, told = tmp_path / "candidates", []
    assert prepare(settings(), corpus, folder, stage=lambda *stage: told.append(stage))
    assert told == [
        ("candidates: indexing", 0),
        ("candidates: train queries", 60),
        ("candidates: dev queries", 20),
    ]
    digest = verify(folder).digest
    assert not prepare(settings(), corpus, folder)
    assert read_manifest(folder).digest == digest
    assert prepare(settings(queries=30), corpus, folder)
    assert len(load(folder, corpus)["train"]) == 30
    assert prepare(settings(), corpus, folder)
    assert read_manifest(folder).digest == digest


def test_what_is_read_is_what_was_written(
    corpus: Corpus, periods: Periods, index: Index, tmp_path: Path
) -> None:
    parts = mine(settings(), periods, index)
    save(tmp_path / "candidates", parts, {"corpus": corpus.version})
    for name, part in load(tmp_path / "candidates", corpus).items():
        assert part.task == "local"
        assert np.array_equal(part.rows, parts[name].rows)
        assert np.array_equal(part.positions, parts[name].positions)
        assert np.array_equal(part.cited.indices, parts[name].cited.indices)


def test_candidates_of_another_corpus_or_that_do_not_fit_are_refused(
    corpus: Corpus, periods: Periods, index: Index, tmp_path: Path
) -> None:
    parts = mine(settings(), periods, index)
    save(tmp_path / "other", parts, {"corpus": "another"})
    with pytest.raises(InputError, match="of another corpus"):
        load(tmp_path / "other", corpus)
    train = parts["train"]
    torn = CandidateSet("local", train.positions[:-1], train.rows, train.cited)
    save(tmp_path / "torn", {**parts, "train": torn}, {"corpus": corpus.version})
    with pytest.raises(IntegrityError, match="do not fit each other"):
        load(tmp_path / "torn", corpus)


def test_a_corpus_without_contexts_has_no_local_queries(tmp_path: Path) -> None:
    bare = build(Synthetic(300, seed=2, context_rate=0.0), tmp_path / "bare")
    with pytest.raises(InputError, match="no local query lies in the train period"):
        prepare(settings(retriever="bm25"), bare, tmp_path / "candidates")
    assert prepare(settings(task="global", retriever="bm25"), bare, tmp_path / "candidates")


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("retriever", ["first-stage", "bm25"])
def test_a_saved_index_gives_the_same_candidates(
    corpus: Corpus, tmp_path: Path, shards: int, retriever: str
) -> None:
    if shards == 1:
        IndexSnapshot.create(corpus, tmp_path / "index")
    else:
        ShardedIndex.create(corpus, tmp_path / "index", shards=shards)
    chosen = settings(retriever=retriever, queries=12, dev_queries=6)
    with_index = chosen.model_copy(update={"index": tmp_path / "index"})
    prepare(chosen, corpus, tmp_path / "anew")
    prepare(with_index, corpus, tmp_path / "saved")
    anew, saved = (load(tmp_path / name, corpus) for name in ("anew", "saved"))
    for part in ("train", "dev"):
        same = [np.isin(a, b).mean() for a, b in zip(anew[part].rows, saved[part].rows, strict=True)]
        assert np.mean(same) > 0.97
    assert not prepare(chosen, corpus, tmp_path / "saved"), "where words are counted does not determine them"
