from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.bag_task import BagTask, settings
from helpers.engine_runs import UNEVEN, run

from cocite.errors import CociteError, ConfigError, InputError
from cocite.nn.variables import PRECISION
from cocite.training.engine.loop import train
from cocite.training.engine.schedule import rate_factor
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.world import World

WORLD = World()


def test_it_learns_and_logs_what_it_does() -> None:
    done = run(WORLD, {})
    assert done.outcome.reason == "done"
    assert done.outcome.steps == 14
    assert list(done.losses) == list(range(1, 15))
    assert list(done.dev) == [0, 7, 14]
    assert done.dev[14] > done.dev[0] + 1
    last = done.logged[-2]
    assert last.keys() >= {"loss", "learning_rate", "gradient_norm", "tokens_per_second", "mfu", "epoch"}
    assert last["epoch"] == 2
    assert last["mfu"] > 0
    chosen = settings()
    assert last["learning_rate"] == 0.02 * rate_factor(chosen.schedule, 13, 14)
    assert sorted(done.seen) == sorted([*range(50), *range(50)])
    assert done.outcome.tokens == 2 * BagTask(chosen).sizes.sum() + 50  # the second epoch's are longer by one


def test_the_loss_is_that_of_a_loop_written_out() -> None:
    chosen = settings(tokens=10_000, optimizer={"learning_rate": 0.02, "clip": 0.0, "weight_decay": 0.1})
    done = run(WORLD, chosen.model_dump())
    task = BagTask(chosen)
    model, schedule = task.model, chosen.schedule
    decays = [p for p in model.parameters() if p.requires_grad and p.ndim == 2]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim != 2]
    optimizer = torch.optim.AdamW(
        [{"params": decays}, {"params": others, "weight_decay": 0}], weight_decay=0.1
    )
    from cocite.training.engine.batches import EpochPlan

    step = 0
    for epoch in range(2):
        task.refresh(model, WORLD, step)
        plan = EpochPlan(task.lengths(epoch), chosen, epoch)
        for position in range(plan.steps):
            batch = task.collate(plan.examples(position), epoch)
            loss = task.loss(model, batch).mean()
            optimizer.zero_grad()
            loss.backward()
            for group in optimizer.param_groups:
                group["lr"] = 0.02 * rate_factor(schedule, step, 14)
            optimizer.step()
            step += 1
            assert done.losses[step] == pytest.approx(loss.item(), rel=1e-5)
    for name, value in model.state_dict().items():
        if not name.startswith("spare"):  # takes part in nothing, so that only the decay moves it
            np.testing.assert_allclose(value.numpy(), done.weights[name], rtol=1e-4, atol=1e-6)


def test_how_a_step_is_cut_into_passes_does_not_matter() -> None:
    whole, cut = run(WORLD, {"tokens": 10_000}), run(WORLD, {"tokens": 7})
    np.testing.assert_allclose(list(whole.losses.values()), list(cut.losses.values()), rtol=1e-5)
    np.testing.assert_allclose(list(whole.norms.values()), list(cut.norms.values()), rtol=1e-4)


def test_the_number_of_loader_threads_changes_nothing() -> None:
    losses = [list(run(WORLD, {"loader_threads": n}, dropout=0.3).losses.values()) for n in (0, 1, 4)]
    assert losses[0] == losses[1] == losses[2]


@pytest.mark.parametrize("kill", [3, 9])
def test_a_resumed_training_ends_as_if_it_had_never_stopped(tmp_path: Path, kill: int) -> None:
    straight = run(WORLD, UNEVEN, dropout=0.3)
    halted = run(WORLD, UNEVEN, tmp_path, kill=kill, dropout=0.3)
    assert halted.outcome is None
    resumed = run(WORLD, UNEVEN, tmp_path, dropout=0.3)
    assert min(resumed.losses) == kill + 1
    assert resumed.losses == {step: straight.losses[step] for step in resumed.losses}
    assert resumed.dev == {step: straight.dev[step] for step in resumed.dev}
    assert resumed.outcome.best_step == straight.outcome.best_step
    assert resumed.outcome.tokens == straight.outcome.tokens
    for name, weight in straight.weights.items():
        assert np.array_equal(weight, resumed.weights[name]), name


def test_a_training_killed_where_mining_is_due_mines_before_it_goes_on(tmp_path: Path) -> None:
    changes = UNEVEN | {"checkpoint_every": 5}
    straight = run(WORLD, changes)
    run(WORLD, changes, tmp_path, kill=10)
    assert run(WORLD, changes, tmp_path).losses == {step: straight.losses[step] for step in range(11, 15)}


def test_a_finished_training_is_not_gone_on_with(tmp_path: Path) -> None:
    first = run(WORLD, {}, tmp_path)
    again = run(WORLD, {}, tmp_path)
    assert not again.losses
    assert not again.dev
    assert again.outcome.best == first.outcome.best
    assert all(np.array_equal(first.weights[name], again.weights[name]) for name in first.weights)


def test_the_best_weights_are_left_in_the_model_even_those_of_an_earlier_run(tmp_path: Path) -> None:
    chosen = settings(epochs=1, evaluate_every=2, checkpoint_every=2)

    def task_with(values: list[float]) -> BagTask:
        task = BagTask(chosen)
        task.values = values
        return task

    class Snapshots(FolderStore):
        taken: dict = {}  # noqa: RUF012

        def save(self, step, write, metrics):
            super().save(step, write, metrics)
            self.taken[step] = {n: v.clone() for n, v in task.model.state_dict().items()}
            if step == 6 and len(self.taken) == 3:
                raise KeyboardInterrupt

    store = Snapshots(tmp_path, WORLD, metric="fit", keep=1)
    task = task_with([0.0, 1.0, 0.5, 0.7])
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        train(task, chosen, world=WORLD, store=store)
    best = store.taken[2]
    task = task_with([0.9])
    outcome = train(task, chosen, world=WORLD, store=store)
    assert (outcome.best_step, outcome.best, outcome.last) == (2, {"fit": 1.0}, {"fit": 0.9})
    assert all(torch.equal(best[name], value) for name, value in task.model.state_dict().items())
    assert not task.model.training


def test_the_start_is_kept_where_no_step_was_better() -> None:
    chosen = settings(epochs=20, evaluate_every=1, patience=3)
    task = BagTask(chosen)
    start = {name: value.clone() for name, value in task.model.state_dict().items()}
    task.values = [0.5, 0.1, 0.5, 0.2]
    outcome = train(task, chosen, world=WORLD)
    assert (outcome.best_step, outcome.best, outcome.steps) == (0, {"fit": 0.5}, 3)
    assert all(torch.equal(start[name], value) for name, value in task.model.state_dict().items())


def test_patience_ends_it() -> None:
    chosen = settings(epochs=20, evaluate_every=1, patience=3)
    task = BagTask(chosen)
    task.values = [0.0, 0.1, 0.2, 0.1, 0.2, 0.0, 9.0]
    outcome = train(task, chosen, world=WORLD)
    assert (outcome.reason, outcome.steps, outcome.best_step) == ("patience", 5, 2)


def test_minutes_end_it_and_count_across_runs(tmp_path: Path) -> None:
    changes = {"epochs": 100_000, "minutes": 0.01, "checkpoint_every": 100_000}
    first = run(WORLD, changes, tmp_path)
    assert first.outcome.reason == "minutes"
    assert first.outcome.seconds >= 0.6
    assert first.outcome.steps == max(first.dev) > 0
    again = run(WORLD, changes, tmp_path)
    assert again.outcome.steps == first.outcome.steps


def test_steps_end_it_whatever_the_epochs_and_are_the_schedules_length() -> None:
    short, long = run(WORLD, {"steps": 5}), run(WORLD, {"steps": 20, "epochs": 1})
    assert (short.outcome.steps, long.outcome.steps) == (5, 20)
    assert list(short.dev) == [0, 5]
    schedule = settings().schedule
    assert short.logged[-2]["learning_rate"] == 0.02 * rate_factor(schedule, 4, 5)


def test_mining_happens_when_it_is_due() -> None:
    mined: list[int] = []

    class Mining(BagTask):
        def refresh(self, model, world, step):
            assert not model.training
            assert not torch.is_grad_enabled()
            mined.append(step)
            super().refresh(model, world, step)

    train(Mining(settings()), settings(), world=WORLD)
    assert mined == [0, 7]
    mined.clear()
    train(Mining(settings()), settings(refresh_every=5), world=WORLD)
    assert mined == [0, 5, 10]


@pytest.mark.parametrize("threads", [0, 3])
def test_no_batch_is_made_before_what_it_is_made_of_was_mined(threads: int) -> None:
    made: dict[int, set[int]] = {}

    class Watching(BagTask):
        def collate(self, examples, epoch):
            made.setdefault(int(self.mined[1]), set()).update((examples + 1000 * epoch).tolist())
            return super().collate(examples, epoch)

        def evaluate(self, model, world):
            return {"fit": 0.0}

    chosen = settings(refresh_every=3, loader_threads=threads)
    train(Watching(chosen), chosen, world=WORLD)
    assert sorted(made) == [0, 3, 6, 9, 12]
    assert [len(made[step]) for step in sorted(made)] == [24, 24, 18, 24, 10]


@pytest.mark.parametrize("spoilt", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_in_a_sentence(tmp_path: Path, spoilt: float) -> None:
    class Spoilt(BagTask):
        calls = 0

        def loss(self, model, batch):
            self.calls += 1
            return super().loss(model, batch) * (spoilt if self.calls > 30 else 1.0)

    chosen = settings(checkpoint_every=1)
    store = FolderStore(tmp_path, WORLD, metric="fit")
    with pytest.raises(CociteError, match=f"the loss became {spoilt} in step") as caught:
        train(Spoilt(chosen), chosen, world=WORLD, store=store)
    last = store.checkpoints()[-1]
    step = int(last.name.removeprefix("step-"))
    assert f"the loss became {spoilt} in step {step + 1}" in str(caught.value)
    assert "lower optimizer.learning_rate" in str(caught.value)
    assert run(WORLD, {"checkpoint_every": 1}, tmp_path, fingerprint="").outcome.steps == 14


def test_a_gradient_that_is_no_number_is_found() -> None:
    class Steep(BagTask):
        def loss(self, model, batch):
            loss = super().loss(model, batch)
            return loss + (loss - loss.detach()).abs().sqrt()  # its slope at 0 is infinite

    with pytest.raises(CociteError, match="the gradient became nan in step 1"):
        train(Steep(settings()), settings(), world=WORLD)


def test_a_dev_metric_that_is_no_number_is_refused() -> None:
    task = BagTask(settings())
    task.values = [math.nan]
    with pytest.raises(CociteError, match="the dev metric fit is nan at step 0.*dev split"):
        train(task, settings(), world=WORLD)


def test_no_examples_are_refused() -> None:
    class Empty(BagTask):
        def lengths(self, epoch):
            return np.zeros(0, dtype=np.int64)

    with pytest.raises(InputError, match="epoch 0 has no examples"):
        train(Empty(settings()), settings(), world=WORLD)


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    run(WORLD, {"epochs": 1}, tmp_path)
    with pytest.raises(
        InputError, match=r"step-00000007: is a checkpoint of another training: the recipe or the corpus"
    ):
        run(WORLD, {"epochs": 1}, tmp_path, fingerprint="other")


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    run(WORLD, {"epochs": 1}, tmp_path)
    with pytest.raises(InputError, match=r"holds no weight 'rare' of shape \(7,\): it is of another model"):
        run(WORLD, {"epochs": 1}, tmp_path, rare=True)


def test_bf16_is_near_fp32_and_is_fp32_where_that_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PRECISION, "float32")
    single, slow = run(WORLD, {}), run(WORLD, {"precision": "bf16"})
    assert (slow.outcome.precision, slow.losses) == ("fp32", single.losses)
    monkeypatch.setenv(PRECISION, "bfloat16")
    half = run(WORLD, {"precision": "bf16"})
    assert half.outcome.precision == "bf16"
    assert half.losses != single.losses
    np.testing.assert_allclose(list(half.losses.values()), list(single.losses.values()), rtol=0.1)
    assert half.weights["words.weight"].dtype == np.float32


def test_what_the_model_or_the_world_cannot_do_is_refused() -> None:
    with pytest.raises(ConfigError, match="Bag has no gradient checkpointing"):
        run(WORLD, {"gradient_checkpointing": True})
    with pytest.raises(ConfigError, match="backend: plain trains on one process, and there are 2"):
        run(World(0, 2), {})
    task = BagTask(settings())
    task.model.requires_grad_(False)
    with pytest.raises(ConfigError, match="no trainable weights"):
        train(task, settings(), world=WORLD)


def test_gradient_checkpointing_is_switched_on_where_there_is_one() -> None:
    task = BagTask(settings())
    calls = []
    task.model.gradient_checkpointing_enable = lambda: calls.append(1)
    train(task, settings(gradient_checkpointing=True, steps=1), world=WORLD)
    assert calls == [1]


def test_the_rate_falls_when_the_metric_stands_still() -> None:
    chosen = settings(
        epochs=2, evaluate_every=2, schedule={"shape": "constant", "warmup": 0, "plateau": 0.5}, batch=8
    )
    task, rates = BagTask(chosen), {}
    task.values = [0.0, 0.9, 0.8, 0.95, 0.7, 0.6, 0.5, 0.4]

    def log(metrics: dict[str, float], step: int) -> None:
        if "learning_rate" in metrics:
            rates[step] = metrics["learning_rate"] / 0.02

    train(task, chosen, world=WORLD, log=log)
    assert [rates[step] for step in range(1, 15)] == [
        1,
        1,
        1,
        1,
        0.5,
        0.5,
        0.5,
        0.5,
        0.25,
        0.25,
        0.125,
        0.125,
        0.0625,
        0.0625,
    ]


def test_a_fallen_rate_is_resumed(tmp_path: Path) -> None:
    changes = UNEVEN | {"schedule": {"shape": "constant", "warmup": 0, "plateau": 0.1}}
    straight = run(WORLD, changes, sparse=True)
    run(WORLD, changes, tmp_path, kill=9, sparse=True)
    resumed = run(WORLD, changes, tmp_path, sparse=True)
    assert resumed.losses == {step: straight.losses[step] for step in resumed.losses}
    assert all(np.array_equal(straight.weights[name], resumed.weights[name]) for name in straight.weights)


def test_a_task_that_orders_its_examples_is_not_shuffled() -> None:
    class Ordered(BagTask):
        is_ordered = True

    chosen = settings(epochs=1, tokens=1000)
    task = Ordered(chosen)
    train(task, chosen, world=WORLD)
    steps = [task.seen[start : start + 8] for start in range(0, 50, 8)]
    assert [sorted(step) for step in steps] == [
        list(range(start, min(start + 8, 50))) for start in range(0, 50, 8)
    ]
