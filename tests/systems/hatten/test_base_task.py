"""HAtten's training: examples, mining and short runs of the loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.many_processes import together
from helpers.mapped_files import mapped_file
from helpers.small_hatten import TRIPLETS, hatten_task

from cocite.corpus.store import Corpus
from cocite.errors import StoppedError
from cocite.systems.hatten import base_task, mining, triplet_task
from cocite.systems.hatten.base_task import HattenTask
from cocite.systems.hatten.encoder import load_hatten_encoder
from cocite.text.queries import context_queries
from cocite.training.engine.checkpoints import Saved
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.watch import InterruptedWorkError, Watch
from cocite.training.engine.wishes import Wishes
from cocite.training.engine.world import World


def test_an_example_is_some_contexts_of_one_paper_of_the_training_period(
    corpus: Corpus, tmp_path: Path
) -> None:
    task = hatten_task(corpus, tmp_path)
    assert corpus.years[task.gaps.citing].max() <= 2015 < corpus.years[task.dev.citing].min()
    lengths = task.lengths(0)
    for epoch in (0, 1):
        bundles = task.bundles(epoch)
        assert len(bundles) == len(lengths) == len(task.lengths(epoch))
        owner, contexts = bundles.gather(np.arange(len(bundles)))
        assert sorted(contexts.tolist()) == list(range(len(task.gaps)))
        assert np.bincount(owner).max() == 3
        citing = task.gaps.citing[contexts]
        assert all(len(set(citing[owner == i].tolist())) == 1 for i in range(len(bundles)))
    first, second = (task.bundles(epoch).gather(np.arange(50))[1] for epoch in (0, 1))
    assert not np.array_equal(first, second)


def test_lengths_are_the_words_of_an_example(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, objective={"random": 0})
    lengths = task.lengths(0)
    for example in (0, 7, len(lengths) - 1):
        documents = task.collate(np.array([example]), 0).documents
        assert len(documents.tokens) <= lengths[example]  # papers that two contexts cite are packed once
    whole = task.collate(np.arange(60), 0).documents
    assert len(whole.tokens) < 0.8 * lengths[:60].sum()  # what examples share is packed once


def test_draws_do_not_depend_on_the_batch(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, objective={"mined": 2, "context_dropout": 0.3})
    task.refresh(task.model.eval(), World(), 0)
    several = task.sample(np.array([4, 9, 2]), 1)
    alone = task.sample(np.array([9]), 1)
    mine = several.owner == 1
    assert np.array_equal(several.mined[mine], alone.mined)
    assert np.array_equal(several.random[mine], alone.random)
    assert np.array_equal(several.read[mine], alone.read)
    assert not np.array_equal(task.sample(np.array([9]), 2).random, alone.random)


def test_training_raises_the_dev_metric_and_the_model_is_exported(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, training={"epochs": 4})
    outcome = train(task, task.recipe.training, world=World())
    before = hatten_task(corpus, tmp_path).evaluate(task.model.train(False), World())
    assert outcome.best == pytest.approx(before)
    untrained = hatten_task(corpus, tmp_path)
    assert outcome.best["R@100"] > untrained.evaluate(untrained.model.eval(), World())["R@100"] + 0.1
    task.export(tmp_path / "model" / "hatten", {"dev": outcome.best})
    encoder = load_hatten_encoder(tmp_path / "model", dtype=torch.float32)
    papers = encoder.encode_papers(corpus, np.arange(len(corpus), dtype=np.int32))
    queries = context_queries(corpus, task.dev.positions)
    scores = encoder.encode_queries(queries) @ papers.T
    scores[np.arange(len(queries)), task.dev.citing] = -1
    best = np.argsort(-scores, axis=1)[:, :10]
    hits = task.dev.cited.contains(np.arange(len(queries))[:, None], best).sum(1) / task.dev.cited.degrees
    assert hits.mean() == pytest.approx(outcome.best["R@10"], abs=0.02)


@pytest.mark.parametrize("objective", [TRIPLETS, {"mined": 1, "depth": 20}], ids=["paper", "in_batch"])
def test_a_resumed_training_ends_as_one_never_interrupted(
    corpus: Corpus, tmp_path: Path, objective: dict[str, Any]
) -> None:
    training = {"steps": 9, "refresh_every": 6, "checkpoint_every": 4, "evaluate_every": 9}
    whole = hatten_task(corpus, tmp_path, objective=objective, training=training)
    train(whole, whole.recipe.training, world=World())

    class Stop(Exception):
        pass

    def stop(metrics: dict[str, float], step: int) -> None:
        if step == 5:
            raise Stop

    store = FolderStore(tmp_path / "checkpoints", World(), metric=HattenTask.metric)
    first = hatten_task(corpus, tmp_path, objective=objective, training={**training, "log_every": 1})
    with pytest.raises(Stop, match=r"^$"):
        train(first, first.recipe.training, world=World(), store=store, log=stop)
    second = hatten_task(corpus, tmp_path, objective=objective, training=training)
    train(second, second.recipe.training, world=World(), store=store)
    assert first.mined_papers is not None
    for name, value in whole.model.state_dict().items():
        assert torch.allclose(second.model.state_dict()[name], value, atol=1e-6), name


def test_flops_are_those_that_torch_counts(corpus: Corpus, tmp_path: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    task = hatten_task(corpus, tmp_path, model={"bag": False, "dimension": 32, "feed_forward": 128})
    batch = task.collate(np.arange(40), 0)
    with FlopCounterMode(display=False) as counter:
        task.model(batch.documents).sum().backward()
    assert 0.8 * counter.get_total_flops() < task.flops(batch) <= counter.get_total_flops()  # no padding
    bag = hatten_task(corpus, tmp_path, model={"attention": False})
    assert bag.flops(bag.collate(np.arange(4), 0)) == 0


def test_attention_can_begin_some_epochs_later(corpus: Corpus, tmp_path: Path) -> None:
    still = {"optimizer": {"learning_rate": 5e-3, "weight_decay": 0.0}}
    task = hatten_task(corpus, tmp_path, objective={"bag_epochs": 1}, training={"epochs": 1, **still})
    before = {name: value.clone() for name, value in task.model.state_dict().items()}
    assert task.flops(task.collate(np.arange(3), 0)) == 0 < task.flops(task.collate(np.arange(3), 1))
    train(task, task.recipe.training, world=World())
    after = task.model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"words.weight", "word_weight.weight", "place_weight", "type_weight"}
    task = hatten_task(
        corpus, tmp_path, objective={"bag_epochs": 1}, training={"epochs": 2, "evaluate_every": 1000}
    )
    train(task, task.recipe.training, world=World())
    assert task.model.gate != 0


def test_fixed_word_vectors_stay(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, words={"trained": False}, training={"steps": 3})
    before = task.model.words.weight.detach().clone()
    train(task, task.recipe.training, world=World())
    assert torch.equal(task.model.words.weight, before)


def mined_and_measured(world: World, corpus: Path, folder: Path) -> dict[str, Any]:
    """What the ranks mine together, how many contexts' words this one compares, and the dev metrics."""
    task = hatten_task(Corpus.open(corpus), folder / f"{world.rank}-of-{world.size}", objective=TRIPLETS)
    compared: list[int] = []
    relevant = task.relevant

    def counting(contexts: np.ndarray, rows: np.ndarray, among: World) -> np.ndarray:
        compared.append(len(contexts))
        return relevant(contexts, rows, among)

    task.relevant = counting  # type: ignore[method-assign]
    task.refresh(task.model.eval(), world, 0)
    mined = {name: np.array(tensor) for name, tensor in task.mined().items()}
    return {**mined, "compared": compared, "metrics": task.evaluate(task.model, world)}


@pytest.mark.integration
def test_two_ranks_share_the_work_and_come_to_what_one_finds(corpus: Corpus, tmp_path: Path) -> None:
    alone = mined_and_measured(World(), corpus.path, tmp_path)
    ranks = together(mined_and_measured, corpus.path, tmp_path)
    assert alone["relevant"].any()
    assert sum(sum(rank["compared"]) for rank in ranks) == sum(alone["compared"]) == len(alone["rows"])
    for rank in ranks:
        assert np.array_equal(rank["rows"], alone["rows"])
        assert np.array_equal(rank["relevant"], alone["relevant"])
        assert rank["metrics"] == pytest.approx(alone["metrics"], abs=1e-6)


def test_mining_tells_how_far_it_is_and_is_left_between_blocks(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = hatten_task(corpus, tmp_path, objective=TRIPLETS)
    task.refresh(task.model.eval(), World(), 0)
    whole = task.mined_papers
    assert whole is not None
    for module, name in ((base_task, "DOCUMENTS"), (mining, "BLOCK"), (triplet_task, "BLOCK")):
        monkeypatch.setattr(module, name, 100)
    told: dict[str, list[int]] = {}
    task.watch = Watch(
        stage=lambda what, size: told.update({what: [size]}), advance=lambda n: told[list(told)[-1]].append(n)
    )
    task.refresh(task.model, World(), 0)
    assert list(told) == [f"mining: {what}" for what in ("papers", "contexts", "nearest papers", "words")]
    assert all(size == sum(done) and len(done) > 1 for size, *done in told.values())
    found = task.mined_papers
    assert found is not None
    assert np.array_equal(found.rows, whole.rows)
    assert np.array_equal(found.relevant, whole.relevant)

    for looks in range(sum(len(done) - 1 for done in told.values())):
        left = iter(range(looks))

        def look(left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise InterruptedWorkError

        task.watch = Watch(look=look)
        with pytest.raises(InterruptedWorkError, match=r"^$"):
            task.refresh(task.model, World(), 0)
        assert task.mined_papers is found


class Recorded:
    """A training that mines in blocks of 100 before its steps 0 and 4, and what it did in the last mining.

    Attributes:
        task: that was trained.
        encoded: blocks of papers and contexts that were encoded.
        told: blocks that progress was told of, which is of all, whoever did them.
    """

    def __init__(self, corpus: Corpus, folder: Path, store: FolderStore | None, stop: int = -1) -> None:
        """Train until the end, or until ``stop`` blocks of the second mining are done."""
        training = {"steps": 6, "refresh_every": 4, "checkpoint_every": 4, "evaluate_every": 9}
        self.task = hatten_task(corpus, folder, objective=TRIPLETS, training=training)
        self.encoded, self.told, self.minings, self.encodes = 0, 0, 0, False
        self.stop, self.wishes = stop, Wishes()
        with pytest.MonkeyPatch.context() as patch:
            for module, name in ((base_task, "DOCUMENTS"), (mining, "BLOCK"), (triplet_task, "BLOCK")):
                patch.setattr(module, name, 100)
            embed = base_task.embed

            def counting(*arguments: Any, **options: Any) -> Any:
                self.encoded += self.encodes
                return embed(*arguments, **options)

            patch.setattr(base_task, "embed", counting)
            told = Watch(stage=self.stage, advance=self.advance)
            train(
                self.task,
                self.task.recipe.training,
                world=World(),
                store=store,
                mining=told,
                wishes=self.wishes,
            )

    def stage(self, what: str, _: int) -> None:
        if what == "mining: papers":
            self.encoded, self.told, self.minings = 0, 0, self.minings + 1
        self.encodes = what in ("mining: papers", "mining: contexts")

    def advance(self, _: int) -> None:
        self.told += 1
        if (self.minings, self.told) == (2, self.stop):
            self.wishes.stop()


@pytest.fixture(scope="module")
def uninterrupted(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(corpus, tmp_path_factory.mktemp("whole"), None)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95])
def test_a_training_that_is_stopped_while_mining_goes_on_with_the_blocks_that_are_done(
    corpus: Corpus, tmp_path: Path, uninterrupted: Recorded, share: float
) -> None:
    stop, whole = int(share * uninterrupted.told), uninterrupted
    assert 0 < whole.encoded < whole.told
    store = FolderStore(tmp_path / "checkpoints", World(), metric=HattenTask.metric)
    with pytest.raises(
        StoppedError, match="while mining after step 4; its checkpoint and what was mined are kept"
    ):
        Recorded(corpus, tmp_path, store, stop)
    [blocks] = (tmp_path / "checkpoints").glob("mining-*")
    assert len(list(blocks.iterdir())) == stop
    resumed = Recorded(corpus, tmp_path, store)
    assert resumed.told == whole.told
    assert resumed.encoded == max(whole.encoded - stop, 0)
    for name, tensor in whole.task.mined().items():
        assert torch.equal(resumed.task.mined()[name], tensor), name
    for name, value in whole.task.model.state_dict().items():
        assert torch.equal(resumed.task.model.state_dict()[name], value), name
    assert not list((tmp_path / "checkpoints").glob("mining-*"))


def test_mined_papers_lie_in_mapped_files(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, objective=TRIPLETS)
    task.refresh(task.model.eval(), World(), 0)
    assert task.mined_papers is not None
    for array in (task.mined_papers.rows, task.mined_papers.relevant):
        assert isinstance(array.base, np.memmap)


def epoch_of(world: World, corpus: Path, folder: Path) -> tuple[list[int], str]:
    """The lengths of an epoch that the ranks begin together, and the file that they lie in."""
    task = hatten_task(Corpus.open(corpus), folder / f"{world.rank}-of-{world.size}")
    apart = task.lengths(1).tolist()
    task.begin_epoch(1, world)
    lengths = task.lengths(1)
    assert lengths.tolist() == apart
    return apart, mapped_file(lengths)


@pytest.mark.integration
def test_two_ranks_map_one_copy_of_an_epochs_lengths(corpus: Corpus, tmp_path: Path) -> None:
    alone, _ = epoch_of(World(), corpus.path, tmp_path)
    (first, file), (second, other) = together(epoch_of, corpus.path, tmp_path)
    assert first == second == alone
    assert "cocite-gathered" in file
    assert file == other


def test_a_checkpoint_within_an_epoch_holds_no_lengths(corpus: Corpus, tmp_path: Path) -> None:
    training = {"steps": 3, "checkpoint_every": 2, "evaluate_every": 9}
    task = hatten_task(corpus, tmp_path, training=training)
    store = FolderStore(tmp_path / "checkpoints", World(), metric=HattenTask.metric)
    train(task, task.recipe.training, world=World(), store=store)
    with store.latest() as folder, ExitStack() as stack:
        assert folder is not None
        saved = Saved.open(folder, stack, fingerprint="")
        assert saved.progress.position == 3
        assert not saved.state("epoch")
