"""Evaluation tasks: queries, relevant papers and samples."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.records import SPLITS
from cocite.errors import InputError
from cocite.evaluation import tasks

TEST = SPLITS.index("test")


def test_local_queries_are_the_contexts_of_the_split(split_corpus):
    task = tasks.local(split_corpus)
    contexts = split_corpus.contexts.table.to_pylist()
    expected = [c for c in contexts if split_corpus.split[c["citing"]] == TEST]
    assert len(task) == len(expected) > 50
    for i, (query, context) in enumerate(zip(task.queries, expected, strict=True)):
        citing = split_corpus.paper(context["citing"])
        assert (query.id, query.context, query.paper) == (context["id"], context["text"], context["citing"])
        assert (query.title, query.abstract, query.year) == (citing.title, citing.abstract, citing.year)
        assert query.authors == citing.authors
        assert task.relevant[i].tolist() == sorted(context["cited"])


def test_global_queries_are_the_papers_with_links(split_corpus):
    task = tasks.global_(split_corpus)
    rows = np.flatnonzero((split_corpus.split == TEST) & (split_corpus.cites.degrees > 0))
    assert [query.paper for query in task.queries] == rows.tolist()
    assert task.ids == split_corpus.ids(rows)
    assert all(query.context == "" for query in task.queries)
    for i, row in enumerate(rows):
        assert task.relevant[i].tolist() == split_corpus.cites[row].tolist()


def test_global_queries_may_be_those_with_so_many_citations(split_corpus):
    degrees = split_corpus.cites.degrees
    middle, most = np.quantile(degrees[split_corpus.split == TEST], [0.5, 1]).astype(int).tolist()
    for least in (middle + 1, most):
        task = tasks.build(split_corpus, "global", min_citations=least)
        rows = np.flatnonzero((split_corpus.split == TEST) & (degrees >= least))
        assert 0 < len(rows) < len(tasks.global_(split_corpus))
        assert task.papers.tolist() == rows.tolist()
    assert tasks.global_(split_corpus, min_citations=1).ids == tasks.global_(split_corpus).ids
    part = tasks.global_(split_corpus, sample=3, min_citations=middle + 1)
    assert len(part) == 3
    assert (degrees[part.papers] > middle).all()
    with pytest.raises(InputError, match=f"no paper of the test split has {most + 1} links or more"):
        tasks.global_(split_corpus, min_citations=most + 1)
    with pytest.raises(InputError, match="0 citations: a query has at least one to find"):
        tasks.global_(split_corpus, min_citations=0)
    with pytest.raises(InputError, match="--min-citations: the queries of the local task are contexts"):
        tasks.build(split_corpus, "local", min_citations=2)


def test_a_sample_is_a_part_and_the_same_each_time(split_corpus):
    whole, part = tasks.local(split_corpus), tasks.local(split_corpus, sample=20, seed=4)
    assert len(part) == 20
    assert part.ids == tasks.local(split_corpus, sample=20, seed=4).ids
    assert part.ids != tasks.local(split_corpus, sample=20, seed=5).ids
    place = {id_: i for i, id_ in enumerate(whole.ids)}
    for i, id_ in enumerate(part.ids):
        assert part.relevant[i].tolist() == whole.relevant[place[id_]].tolist()
        assert part.queries[i] == whole.queries[place[id_]]


def test_nothing_of_the_split_is_in_the_history_before_it(split_corpus):
    for split in ("dev", "test"):
        history = tasks.history_before(split_corpus, split)
        assert not history.citing[split_corpus.split == SPLITS.index(split)].any()
        years = split_corpus.years[split_corpus.split == SPLITS.index(split)]
        assert history.year == int(years.min()) - 1


def test_unknown_names_are_refused(split_corpus, tmp_path):
    with pytest.raises(InputError, match="did you mean 'local'"):
        tasks.build(split_corpus, "locl")
    with pytest.raises(InputError, match="did you mean 'test'"):
        tasks.local(split_corpus, "tests")
    with pytest.raises(InputError, match="at least 1"):
        tasks.global_(split_corpus, sample=0)


def test_some_queries_of_a_task_keep_their_relevant_papers(split_corpus):
    task = tasks.build(split_corpus, "global")
    part = task.take(np.array([5, 2]))
    assert part.ids == [task.ids[5], task.ids[2]]
    assert [part.relevant[i].tolist() for i in (0, 1)] == [task.relevant[i].tolist() for i in (5, 2)]


def test_samples_are_sorted_and_a_large_one_is_all():
    positions = np.array([2, 3, 5, 7, 11])
    sample = tasks.draw_sample(positions, 3, seed=1)
    assert len(sample) == 3
    assert (np.diff(sample) > 0).all()
    assert set(sample.tolist()) <= set(positions.tolist())
    for size in (None, 5, 9):
        np.testing.assert_array_equal(tasks.draw_sample(positions, size, seed=1), positions)


def test_ids_of_rows_in_any_order(split_corpus):
    rows = np.array([7, 3, 7], np.int32)
    assert tasks.paper_ids(split_corpus, rows) == split_corpus.ids(rows)
