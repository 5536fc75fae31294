"""The bi-encoder's loss against its definition, its dev metric, and what a short training leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.systems.bi_encoder.citations import NO_CONTEXT
from cocite.systems.bi_encoder.task import BiEncoderTask
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite.training.engine.loop import train
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World

MakeTask = Callable[..., BiEncoderTask]


def test_the_loss_is_its_definition(corpus: Corpus, make_task: MakeTask) -> None:
    """Written out for each citation: the papers of the step but those forbidden, with the correction."""
    task = make_task(texts={"task": "both"}, objective={"scale": 7.0, "correction": 0.5})
    task.model.eval()
    tokens = task.tokens
    of_contexts, whole = (np.flatnonzero((tokens.context == NO_CONTEXT) == flag) for flag in (False, True))
    examples = np.concatenate([of_contexts[[3, 11, 5]], whole[[2, 40, 41]]])
    batch = task.collate(examples, 0)
    with torch.no_grad():
        found = task.loss(task.model, batch)
        vectors = task.model(batch.texts).double()
    counts = np.bincount(tokens.cited, minlength=len(corpus))
    for i, example in enumerate(examples.tolist()):
        citing, cited = int(tokens.citing[example]), int(tokens.cited[example])
        logits = {
            row: 7 * float(vectors[i] @ vectors[len(examples) + place])
            - 0.5 * np.log(max(counts[row], 0.5) / len(tokens.cited))
            for place, row in enumerate(batch.papers.tolist())
            if row == cited
            or not (
                row in corpus.cites[citing].tolist()
                or row == citing
                or corpus.years[row] > corpus.years[citing]
            )
        }
        expected = np.log(sum(np.exp(value) for value in logits.values())) - logits[cited]
        assert abs(float(found[i]) - expected) < 1e-4


def test_a_step_in_pieces_has_the_loss_of_the_whole(make_task: MakeTask) -> None:
    task = make_task()
    assert isinstance(task, ContrastiveTask)
    task.model.eval()
    pieces = [np.array([3, 11]), np.array([5]), np.array([30, 2, 8])]
    vectors = torch.cat([task.embed(task.model, task.collate(piece, 0)) for piece in pieces])
    whole = np.concatenate(pieces)
    expected = task.loss(task.model, task.collate(whole, 0))
    torch.testing.assert_close(task.contrast(vectors, pieces, 0), expected, rtol=0, atol=1e-5)


def test_lengths_are_those_of_the_texts_that_a_citation_reads(make_task: MakeTask) -> None:
    task = make_task(texts={"task": "both"})
    lengths = task.lengths(0)
    for example in (0, len(lengths) // 2, len(lengths) - 1):
        assert len(task.collate(np.array([example]), 0).texts.ids) == lengths[example]


def test_the_dev_metric_is_that_of_all_cosines(make_task: MakeTask) -> None:
    task = make_task(dev_candidates=200)
    task.model.eval()
    with torch.no_grad():
        found = task.evaluate(task.model, World())
        papers = task._vectors(task.model, World(), task.tokens.papers.take(task.candidates))
        dev = task.tokens.dev
        queries = task._vectors(
            task.model, World(), task.tokens.queries(dev.citing, np.asarray(dev.contexts))
        )
    recalls = []
    for i in range(len(queries)):
        scores = papers.astype(np.float64) @ queries[i]
        scores[task.candidates == dev.citing[i]] = -np.inf
        best = set(task.candidates[np.argsort(-scores, kind="stable")[:10]].tolist())
        recalls.append(len(best & set(dev.cited[i].tolist())) / len(dev.cited[i]))
    assert abs(found["R@10"] - np.mean(recalls)) < 1e-6
    assert len(task.candidates) == 200
    assert set(dev.cited.indices.tolist()) <= set(task.candidates.tolist())


def test_a_short_training_finds_more_and_its_folder_becomes_a_retriever(
    corpus: Corpus, make_task: MakeTask, tmp_path: Path
) -> None:
    task = make_task(
        texts={"task": "both"},
        training={"steps": 40, "optimizer": {"learning_rate": 2e-3}, "evaluate_every": 40},
    )
    seen: list[dict[str, float]] = []
    train(
        task, task.recipe.training, world=World(), log=lambda m, _: seen.append(m) if "R@100" in m else None
    )
    assert seen[-1]["MRR"] > seen[0]["MRR"] + 0.02
    task.export(tmp_path / "bi-encoder", {"dev": seen[-1]})
    save_sentence_encoder(
        tmp_path / "sentence",
        SentenceRecipe.parse({"encoder": str(tmp_path / "bi-encoder"), "precision": "float32"}),
        {},
    )
    encoder = load_sentence_encoder(tmp_path / "sentence")
    assert encoder.settings.max_tokens == 48
    rows = np.arange(20, dtype=np.int32)
    task.model.eval()
    with torch.no_grad():
        trained = task._vectors(task.model, World(), task.tokens.papers.take(rows))
    np.testing.assert_allclose(encoder.encode_papers(corpus, rows), trained, atol=1e-5)
    text = corpus.contexts.take("text", [0])[0]
    assert encoder.encode_queries([Query("gap", context=text)]).shape == (1, 32)


def test_flops_are_those_that_torch_counts(make_task: MakeTask) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    task = make_task()
    batch = task.collate(np.array([0]), 0)
    # Only the products of the plain form of attention are counted on a CPU.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        task.loss(task.model, batch).sum().backward()
    assert task.flops(batch) == pytest.approx(counter.get_total_flops(), rel=0.1)
