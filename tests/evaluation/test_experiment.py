"""Experiments: rankings in batches, their time, and the files they write."""

from __future__ import annotations

import time

import numpy as np
import pytest

from cocite.evaluation import experiment, tasks
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.hits import Hits
from cocite.evaluation.trec import read_qrels
from cocite.protocols import NO_ROW, Ranking


def test_batches_change_nothing_and_files_are_those_of_the_rankings(split_corpus, tmp_path):
    task = tasks.global_(split_corpus, sample=20)
    search = Bm25Baseline(lexical_index(split_corpus)).search
    whole = experiment.run(task, search, k=50)
    counts = []
    parts = experiment.run(
        task, search, k=50, batch=7, to=tmp_path / "run", tag="mine", advance=counts.append
    )
    assert counts == [7, 7, 6]
    for array in ("indptr", "ranks", "rows"):
        np.testing.assert_array_equal(getattr(parts.hits, array), getattr(whole.hits, array))
    np.testing.assert_array_equal(parts.self_citation.queries, whole.self_citation.queries)
    np.testing.assert_array_equal(whole.hits.ranks, Hits.of(search(task.queries, 50), task.relevant).ranks)
    first = (tmp_path / "run").read_text().splitlines()[0].split()
    best = int(search(task.queries[:1], 1).rows[0, 0])
    assert (first[0], first[2], first[5]) == (task.ids[0], split_corpus.ids([best])[0], "mine")


def test_queries_without_candidates_and_time_are_counted(split_corpus):
    task = tasks.global_(split_corpus, sample=6)

    def rank(queries, k):
        rows = np.full((len(queries), k), NO_ROW, np.int32)
        rows[0, 0] = 1
        time.sleep(0.01)
        return Ranking(rows, np.where(rows == NO_ROW, -np.inf, 1).astype(np.float32))

    result = experiment.run(task, rank, k=3, batch=3)
    assert result.empty == 4
    assert result.seconds >= 0.02
    assert result.milliseconds == pytest.approx(1000 * result.seconds / 6)


def test_qrels_of_a_task_are_its_relevant_papers(split_corpus, tmp_path):
    task = tasks.local(split_corpus, sample=9)
    experiment.write_task_qrels(task, tmp_path / "qrels")
    expected = {id_: split_corpus.ids(task.relevant[i]) for i, id_ in enumerate(task.ids)}
    assert read_qrels(tmp_path / "qrels").relevant == expected


def test_parts_of_whole_batches_give_the_result_of_all_to_the_last_digit(split_corpus):
    task = tasks.local(split_corpus, sample=40)
    search = Bm25Baseline(lexical_index(split_corpus)).search
    whole = experiment.run(task, search, k=50, batch=4)
    written = []
    parts = [
        experiment.rank_some(
            task,
            search,
            first,
            min(first + 12, 40),
            k=50,
            batch=4,
            write=lambda ids, ranking: written.append((ids, ranking.rows)),
        )
        for first in range(0, 40, 12)
    ]
    assert [len(part.hits) for part in parts] == [12, 12, 12, 4]
    assert [len(ids) for ids, _ in written] == [4] * 10
    joined = experiment.EvalResult.of(parts)
    for array in ("indptr", "ranks", "rows"):
        np.testing.assert_array_equal(getattr(joined.hits, array), getattr(whole.hits, array))
    for array in ("mean_rank", "max_rank", "queries"):
        np.testing.assert_array_equal(
            getattr(joined.self_citation, array), getattr(whole.self_citation, array)
        )
    assert (joined.empty, joined.hits.depth) == (whole.empty, whole.hits.depth)
