"""MP-BERT4CR's fine-tuning: the loss of the paper, dev metrics, and short runs of the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.changed_weights import changed_by
from helpers.small_mp_bert4cr import mp_bert4cr_recipe, prepared_task
from safetensors import safe_open

from cocite.artifacts import verify
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.encoder import load_mp_bert4cr_encoder
from cocite.systems.mp_bert4cr.own_negatives_task import MpBert4crTask, recommendation_metrics
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World
from cocite.training.gaps import Gaps


def test_the_loss_of_an_example_is_the_papers_equation(corpus: Corpus, folder: Path) -> None:
    task = prepared_task(mp_bert4cr_recipe(), corpus, folder)
    assert not isinstance(task, ContrastiveTask)
    task.model.eval()
    examples = np.arange(12)
    batch = task.collate(examples, 0)
    with torch.no_grad():
        found = task.loss(task.model, batch)
        vectors = task.model(batch.manuscripts, batch.papers)
    sample = batch.sample
    row = {int(paper): vectors[12 + i] for i, paper in enumerate(sample.papers)}

    def far(one: torch.Tensor, other: torch.Tensor) -> float:
        return float((one.double() - other.double()).norm())

    for i in range(12):
        source, target = vectors[i], row[int(sample.targets[i])]
        positives = [row[int(paper)] for paper in sample.positives[i] if paper != NO_ROW]
        total = 0.0
        for negative in (row[int(paper)] for paper in sample.negatives[i]):
            total += np.exp(far(source, target) - far(source, negative))
            for positive in positives:
                total += np.exp(far(source, positive) - far(source, negative))
                total += np.exp(far(target, positive) - far(target, negative))
        assert float(found[i]) == pytest.approx(np.log1p(total), rel=1e-4)


def test_layers_join_after_the_bag_epochs(corpus: Corpus, folder: Path) -> None:
    task = prepared_task(mp_bert4cr_recipe(bag_epochs=2), corpus, folder)
    model, layers = task.model, [name for name, _ in task.model.named_parameters() if "_layers." in name]
    before, after = task.collate(np.arange(8), 1), task.collate(np.arange(8), 2)
    assert (before.layers, after.layers) == (False, True)
    assert task.flops(before) == 0
    task.loss(model, before).sum().backward()
    assert layers
    assert all(model.get_parameter(name).grad is None for name in layers)
    assert model.get_parameter("manuscript.words.weight").grad is not None
    task.loss(model, after).sum().backward()
    assert all(model.get_parameter(name).grad is not None for name in layers)
    with torch.no_grad():  # they begin as nothing
        bag = model(before.manuscripts, before.papers, layers=False)
        torch.testing.assert_close(model(before.manuscripts, before.papers), bag)
        for name in layers:
            model.get_parameter(name).normal_()
        assert not torch.allclose(model(before.manuscripts, before.papers), bag, atol=0.1)


@pytest.mark.parametrize(("dev_body", "read"), [(None, 2), (1, 1), (9, 2)])
def test_the_dev_metric_reads_as_many_sentences_as_inference(
    corpus: Corpus, folder: Path, dev_body: int | None, read: int
) -> None:
    task = prepared_task(mp_bert4cr_recipe(dev_body=dev_body), corpus, folder)
    assert task.dev_documents.settings.body == read
    rows = np.arange(len(corpus))
    documents = task.dev_documents.papers(rows, Draws(0, 0, rows))
    sentences = documents.document_lengths.numpy() - np.minimum(np.diff(task.texts.abstract_indptr), 4)
    assert sentences.max() == read


def test_metrics_are_those_of_the_papers_tables() -> None:
    cited = CSR.build([0, 1, 1, 1], [5, 1, 2, 3], 2)
    rows = np.array([[9, 5, 8], [1, 7, 3]], np.int32)
    found = Ranking(rows, -np.arange(6, dtype=np.float32).reshape(2, 3))
    gaps = Gaps(np.arange(2), np.zeros(2, np.int32), cited)
    assert recommendation_metrics(found, gaps) == pytest.approx(
        {
            "R@10": (1 + 2 / 3) / 2,
            "MAP@10": (1 / 2 + (1 + 2 / 3) / 3) / 2,
            "R@10 of several": 2 / 3,
        }
    )


@pytest.mark.parametrize("shared", [True, False])
def test_training_finds_more_of_what_is_cited_and_leaves_an_encoder(
    corpus: Corpus, folder: Path, tmp_path: Path, shared: bool
) -> None:
    chosen = mp_bert4cr_recipe(
        training={"epochs": 3, "batch": 24},
        negatives={"shared": shared, "count": 2},
        model={"shared_words": True},
    )
    task = prepared_task(chosen, corpus, folder)
    seen: list[dict[str, float]] = []
    outcome = train(
        task, chosen.training, world=World(), log=lambda m, _: seen.append(m) if "R@10" in m else None
    )
    assert outcome.best["R@10"] > seen[0]["R@10"] + 0.02
    task.export(tmp_path / "mp-bert4cr", {"dev": outcome.best})
    verify(tmp_path / "mp-bert4cr", kind="mp-bert4cr")
    encoder = load_mp_bert4cr_encoder(tmp_path, dtype=torch.float32)
    for name, weight in task.model.state_dict().items():
        assert torch.equal(encoder.model.state_dict()[name], weight), name


def test_a_resumed_training_ends_as_one_never_interrupted(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = mp_bert4cr_recipe(
        training={"steps": 6, "tokens": 4000, "checkpoint_every": 3}, negatives={"shared": True}
    )

    class Killed(Exception):
        pass

    class KilledStore(FolderStore):
        def save(self, *arguments: Any) -> None:
            super().save(*arguments)
            raise Killed

    world = World()
    plain = prepared_task(chosen, corpus, folder)
    train(plain, chosen.training, world=world)
    with pytest.raises(Killed, match=r"^$"):
        train(
            prepared_task(chosen, corpus, folder),
            chosen.training,
            world=world,
            store=KilledStore(tmp_path, world, metric="R@10", keep=1),
        )
    task = prepared_task(chosen, corpus, folder)
    store = FolderStore(tmp_path, world, metric="R@10", keep=1)
    with store.latest() as checkpoint:
        assert checkpoint is not None
        with safe_open(checkpoint / "state.safetensors", "np") as state:
            # They are mapped from the prepared input instead.
            assert not any("lengths" in name for name in state.keys())  # noqa: SIM118 - not a mapping
    train(task, chosen.training, world=world, store=store)
    for (name, one), other in zip(plain.model.named_parameters(), task.model.parameters(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.parametrize("shared", [True, False])
def test_word_vectors_may_stay_as_they_begin(corpus: Corpus, folder: Path, shared: bool) -> None:
    chosen = mp_bert4cr_recipe(
        words={"trained": False}, model={"shared_words": shared}, training={"steps": 3, "log_every": 1}
    )
    task = prepared_task(chosen, corpus, folder)
    changed = changed_by(chosen.training, task)
    assert not any("words" in name for name in changed)
    assert "manuscript.sentence_layers.0.output.weight" in changed


def test_flops_count_both_encoders(corpus: Corpus, folder: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    task: MpBert4crTask = prepared_task(mp_bert4cr_recipe(), corpus, folder)
    batch = task.collate(np.arange(8), 0)
    with FlopCounterMode(display=False) as counter:
        task.loss(task.model, batch).sum().backward()
    assert task.flops(batch) == pytest.approx(counter.get_total_flops(), rel=0.1)
