"""All papers of a step as negatives, against the loss of each example by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_mp_bert4cr import mp_bert4cr_recipe, prepared_task

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.systems.mp_bert4cr.losses import mpt_src_tgt
from cocite.systems.mp_bert4cr.shared_negatives_task import SharedNegativesTask
from cocite.training.engine.task import ContrastiveTask


@pytest.mark.parametrize("loss", ["triplet", "mpt-tgt", "mpt-src", "mpt-src-tgt"])
def test_shared_negatives_are_all_papers_of_the_step_that_are_none_of_an_example(
    corpus: Corpus, folder: Path, loss: str
) -> None:
    task = prepared_task(
        mp_bert4cr_recipe(negatives={"shared": True, "count": 1}, objective={"loss": loss}), corpus, folder
    )
    assert isinstance(task, SharedNegativesTask)
    assert isinstance(task, ContrastiveTask)
    task.model.eval()
    whole = np.arange(10, 30)
    pieces = [whole[:12], whole[12:]]
    with torch.no_grad():
        direct = task.loss(task.model, task.collate(whole, 0))
        vectors = torch.cat([task.embed(task.model, task.collate(piece, 0)) for piece in pieces])
        torch.testing.assert_close(task.contrast(vectors, pieces, 0), direct, rtol=1e-4, atol=1e-4)
        if loss != "mpt-src-tgt":
            return
        batch = task.collate(whole, 0)
        sample, vectors = batch.sample, task.model(batch.manuscripts, batch.papers)
        row = {int(paper): vectors[20 + i] for i, paper in enumerate(sample.papers)}
        for i in (0, 7, 19):
            own = sample.positives[i][sample.positives[i] != NO_ROW]
            none = {int(sample.targets[i]), int(corpus.context_citing[sample.contexts[i]]), *own.tolist()}
            none |= set(corpus.cites[int(corpus.context_citing[sample.contexts[i]])].tolist())
            others = torch.stack([row[int(paper)] for paper in sample.papers if int(paper) not in none])
            positives = torch.stack([row[int(p)] for p in own]) if len(own) else torch.zeros(0, 24)
            expected = mpt_src_tgt(
                vectors[i : i + 1],
                row[int(sample.targets[i])][None],
                positives[None],
                torch.ones(1, len(own), dtype=torch.bool),
                others,
                torch.ones(1, len(others), dtype=torch.bool),
            )
            assert float(direct[i]) == pytest.approx(float(expected[0]), rel=1e-4)
