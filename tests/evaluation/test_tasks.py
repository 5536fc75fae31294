from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.records import SPLITS
from cocite.errors import InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.metrics import means
from cocite.evaluation.run_files import AuthorLookup, evaluate_run_file, reference_means
from cocite.evaluation.trec import DocumentNumbers, read_qrels
from cocite.retrieval.query_forms import QueryForm

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


def test_unknown_names_are_told(split_corpus, tmp_path):
    with pytest.raises(InputError, match="did you mean 'local'"):
        tasks.build(split_corpus, "locl")
    with pytest.raises(InputError, match="did you mean 'test'"):
        tasks.local(split_corpus, "tests")
    with pytest.raises(InputError, match="at least 1"):
        tasks.global_(split_corpus, sample=0)


def test_the_baseline_mixes_kinds_of_queries_and_never_finds_the_query_itself(split_corpus):
    baseline = Bm25Baseline(lexical_index(split_corpus))
    local, whole = tasks.local(split_corpus, sample=5), tasks.global_(split_corpus, sample=5)
    mixed = [query for pair in zip(local.queries, whole.queries, strict=True) for query in pair]
    ranking = baseline.search(mixed, 30)
    np.testing.assert_array_equal(ranking.rows[::2], baseline.local.search(local.queries, 30).rows)
    np.testing.assert_array_equal(ranking.rows[1::2], baseline.global_.search(whole.queries, 30).rows)
    assert not (ranking.rows == np.array([query.paper for query in mixed])[:, None]).any()


def test_a_written_run_is_judged_as_it_was_measured(split_corpus, tmp_path):
    task = tasks.local(split_corpus, sample=60)
    search = Bm25Baseline(lexical_index(split_corpus)).search
    done = []
    outcome = experiment.run(task, search, k=200, batch=7, to=tmp_path / "run", advance=done.append)
    assert sum(done) == len(task)
    experiment.write_task_qrels(task, tmp_path / "qrels")
    qrels = read_qrels(tmp_path / "qrels")
    ids = split_corpus.ids(range(len(split_corpus)))
    authors = AuthorLookup(
        {q.id: q.authors for q in task.queries}, lambda rows: split_corpus.papers.take("authors", rows)
    )
    judged = evaluate_run_file(tmp_path / "run", qrels, DocumentNumbers(ids), authors=authors)
    metrics = ("MRR", "R@10", "R@100", "MAP@10", "P@5", "F1@5")
    assert means(judged.hits, metrics) == pytest.approx(means(outcome.hits, metrics))
    assert reference_means(tmp_path / "run", qrels, metrics) == pytest.approx(
        {
            name: value
            for name, value in means(outcome.hits, metrics).items()
            if name[0] in "PR" or name == "MRR"
        }
    )
    np.testing.assert_allclose(judged.self_citation.mean_rank, outcome.self_citation.mean_rank)
    assert (judged.missing, judged.unjudged) == (0, 0)


def test_queries_that_a_run_lacks_count_as_zero_and_foreign_ones_are_left_out(tmp_path):
    (tmp_path / "qrels").write_text("a 0 x 1\nb 0 y 1\nb 0 z 1\nc 0 x 0\n")
    (tmp_path / "run").write_text("z Q0 x 1 9 t\nb Q0 w 1 2 t\nb Q0 z 2 1 t\n")
    judged = evaluate_run_file(tmp_path / "run", read_qrels(tmp_path / "qrels"))
    assert (judged.ids, judged.missing, judged.unjudged) == (["a", "b", "c"], 2, 1)
    assert means(judged.hits, ["MRR", "R@10"]) == {"MRR": 0.25, "R@10": 0.25}
    (tmp_path / "other").write_text("z Q0 x 1 9 t\n")
    with pytest.raises(InputError, match="no query of the run"):
        evaluate_run_file(tmp_path / "other", read_qrels(tmp_path / "qrels"))


# The reference table of the ACL corpus: queries of the whole test split.
REFERENCE = {
    QueryForm.TITLE: {"P@10": 0.083, "P@20": 0.061, "R@20": 0.140, "F1@20": 0.085, "MRR": 0.267, "R@1000": 0.533},
    QueryForm.TITLE_ABSTRACT: {
        "P@10": 0.119, "P@20": 0.085, "R@20": 0.200, "F1@20": 0.120, "MRR": 0.368, "R@1000": 0.629,
    },
}  # fmt: skip


@pytest.mark.acl
@pytest.mark.parametrize("form", [*REFERENCE])
def test_bm25_reproduces_the_global_reference_table(acl_store, form):
    task = tasks.global_(acl_store)
    assert len(task) == 2177
    outcome = experiment.run(task, Bm25Baseline(lexical_index(acl_store), form).search, k=1000)
    assert means(outcome.hits, [*REFERENCE[form]]) == pytest.approx(REFERENCE[form], abs=0.005)


@pytest.mark.acl
def test_bm25_reproduces_the_local_reference_on_a_sample(acl_store):
    task = tasks.local(acl_store, sample=4000, seed=1)
    outcome = experiment.run(task, Bm25Baseline(lexical_index(acl_store)).search, k=1000)
    # The standard error of 4,000 queries is below .007 for each of these.
    expected = {"MRR": 0.186, "R@10": 0.304, "R@100": 0.563, "R@1000": 0.807, "MAP@10": 0.163}
    assert means(outcome.hits, [*expected]) == pytest.approx(expected, abs=0.02)
