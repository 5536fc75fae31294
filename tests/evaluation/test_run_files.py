"""Run files: judged as they were measured, and partial ones."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.errors import InputError
from cocite.evaluation import experiment, run_files, tasks
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.metrics import means
from cocite.evaluation.run_files import AuthorLookup, evaluate_run_file, reference_means
from cocite.evaluation.trec import DocumentNumbers, Qrels, read_qrels
from cocite.protocols import NO_ROW


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
    assert judged.hits.citing is None
    papers = {query.id: query.paper for query in task.queries[:50]}
    judged = evaluate_run_file(tmp_path / "run", qrels, DocumentNumbers(ids), papers=papers)
    assert judged.hits.citing.tolist() == [*outcome.hits.citing[:50].tolist(), *[NO_ROW] * 10]


def test_queries_that_a_run_lacks_count_as_zero_and_foreign_ones_are_left_out(tmp_path):
    (tmp_path / "qrels").write_text("a 0 x 1\nb 0 y 1\nb 0 z 1\nc 0 x 0\n")
    (tmp_path / "run").write_text("z Q0 x 1 9 t\nb Q0 w 1 2 t\nb Q0 z 2 1 t\n")
    judged = evaluate_run_file(tmp_path / "run", read_qrels(tmp_path / "qrels"))
    assert (judged.ids, judged.missing, judged.unjudged) == (["a", "b", "c"], 2, 1)
    assert means(judged.hits, ["MRR", "R@10"]) == {"MRR": 0.25, "R@10": 0.25}
    (tmp_path / "other").write_text("z Q0 x 1 9 t\n")
    with pytest.raises(InputError, match="no query of the run"):
        evaluate_run_file(tmp_path / "other", read_qrels(tmp_path / "qrels"))


def test_documents_must_include_the_relevant_ones_and_others_are_not_counted(tmp_path):
    (tmp_path / "run").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\n")
    qrels = Qrels({"q": ["c"]})
    for documents in (None, DocumentNumbers(["c"]), DocumentNumbers(["a", "b", "c"])):
        result = evaluate_run_file(tmp_path / "run", qrels, documents)
        assert result.hits.ranks.tolist() == [3]
        assert result.self_citation is None


def test_batches_of_queries_keep_the_order_of_the_qrels(tmp_path, monkeypatch):
    monkeypatch.setattr(run_files, "BATCH", 2)
    lines = [f"q{i} Q0 d{rank} {rank} {9 - rank} t\n" for i in (4, 0, 3, 1, 2) for rank in range(1, 6)]
    (tmp_path / "run").write_text("".join(lines))
    counts = []
    qrels = Qrels({f"q{i}": [f"d{i + 1}"] for i in range(5)})
    result = evaluate_run_file(tmp_path / "run", qrels, advance=counts.append)
    assert result.hits.ranks.tolist() == [1, 2, 3, 4, 5]
    assert counts == [2, 2, 1]
    assert reference_means(tmp_path / "run", qrels, ["MRR", "MAP@10"]) == pytest.approx(
        {"MRR": (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5}
    )
