"""The triplets of the paper, found one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from helpers.small_hatten import TRIPLETS, hatten_task
from torch.nn import functional

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.systems.hatten.triplet_task import TripletTask
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World


def test_the_triplets_are_those_of_the_paper(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, objective=TRIPLETS)
    assert isinstance(task, TripletTask)
    assert not isinstance(task, ContrastiveTask)
    task.model.eval()
    task.refresh(task.model, World(), 0)
    examples = np.arange(12)
    sample, batch = task.sample(examples, 0), task.collate(examples, 0)
    assert sample.mined.shape == (12, 4)
    query, positive, negative = task.triplets(sample)
    triplets = list(zip(query.tolist(), positive.tolist(), negative.tolist(), strict=True))
    for q in range(12):
        citing, cited = task.gaps.citing[sample.contexts[q]], task.gaps.cited[sample.contexts[q]].tolist()
        mined, random = sample.mined[q], sample.random[q, 0]
        expected = [(paper, other) for paper in cited for other in [*mined.tolist(), random]]
        expected += [(paper, random) for paper in mined[sample.relevant[q]].tolist()]
        forbidden = {NO_ROW, int(citing), *corpus.cites[citing].tolist()}
        allowed = [
            (p, n)
            for p, n in expected
            if n not in forbidden and p != n and corpus.years[n] <= corpus.years[citing]
        ]
        assert sorted((p, n) for i, p, n in triplets if i == q) == sorted(allowed)
    assert sample.relevant.any()
    vectors = task.model(batch.documents).detach()
    row = {paper: i for i, paper in enumerate(sample.papers.tolist(), len(sample.contexts))}
    losses = torch.zeros(12)
    for q in range(12):
        own = [
            functional.relu(vectors[q] @ vectors[row[n]] - vectors[q] @ vectors[row[p]] + 0.1)
            for i, p, n in triplets
            if i == q
        ]
        losses[q] = torch.stack(own).mean()
    assert torch.allclose(task.loss(task.model, batch), losses, atol=1e-5)
