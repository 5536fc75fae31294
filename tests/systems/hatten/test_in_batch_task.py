"""The in-batch softmax against its definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_hatten import hatten_task

from cocite.corpus.store import Corpus
from cocite.systems.hatten.in_batch_task import InBatchTask
from cocite.training.engine.task import ContrastiveTask


@pytest.mark.parametrize("spares", [True, False])
def test_the_softmax_loss_is_its_definition(corpus: Corpus, tmp_path: Path, spares: bool) -> None:
    """Written out for each citation: all papers of the step but those forbidden, with the correction."""
    settings = {"correction": 0.5, "scale": 7.0, "spare_manuscript": spares}
    task = hatten_task(corpus, tmp_path, objective=settings)
    assert isinstance(task, InBatchTask)
    task.model.eval()
    examples = np.array([3, 11, 5, 30])
    sample = task.sample(examples, 0)
    batch = task.collate(examples, 0)
    found = task.loss(task.model, batch)
    vectors = task.model(batch.documents).detach().double()
    queries, papers = vectors[: len(sample.contexts)], vectors[len(sample.contexts) :]
    counts = np.bincount(task.gaps.cited.indices, minlength=len(corpus))
    expected = torch.zeros(4, dtype=torch.float64)
    for q, context in enumerate(sample.contexts.tolist()):
        citing, cited = task.gaps.citing[context], task.gaps.cited[context].tolist()
        losses = []
        for paper in cited:
            logits = {
                row: 7 * float(queries[q] @ papers[i]) - 0.5 * np.log(max(counts[row], 0.5) / counts.sum())
                for i, row in enumerate(sample.papers.tolist())
                if row == paper
                or not (
                    row in (corpus.cites[citing].tolist() if spares else cited)
                    or row == citing
                    or corpus.years[row] > corpus.years[citing]
                )
            }
            losses.append(np.log(sum(np.exp(v) for v in logits.values())) - logits[paper])
        expected[sample.owner[q]] += np.mean(losses) * 4 / len(sample.contexts)
    assert torch.allclose(found.double(), expected, atol=1e-4)


def test_a_step_in_pieces_has_the_loss_of_the_whole(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, objective={"random": 0})
    assert isinstance(task, InBatchTask)
    assert isinstance(task, ContrastiveTask)
    task.model.eval()
    pieces = [np.array([3, 11]), np.array([5]), np.array([30, 2, 8])]
    vectors = torch.cat([task.embed(task.model, task.collate(piece, 0)) for piece in pieces])
    whole = np.concatenate(pieces)
    expected = task.loss(task.model, task.collate(whole, 0))
    assert torch.allclose(task.contrast(vectors, pieces, 0), expected, atol=1e-5)
    vectors.retain_grad()
    task.contrast(vectors, pieces, 0).mean().backward()
    assert vectors.grad is not None
    assert vectors.grad.abs().sum() > 0
