from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from cocite.errors import CociteError, InputError, IntegrityError
from cocite.training import checkpoint as checkpoints
from cocite.training.loop import FitResult, LoopSettings, fit, optimizers_for


class Line(nn.Module):
    """A dense weight, and a table with sparse gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.table = nn.Parameter(torch.zeros(4, 1))


class LineTask:
    """Least squares with noisy batches; the dev metric is given, or minus the distance to the answer."""

    metric = "score"

    def __init__(self, scores: list[float] | None = None, bad: int = 0) -> None:
        self.model, self.scores, self.bad = Line(), scores, bad
        self.evaluated = self.batch = 0

    def batches(self, epoch: int) -> Iterator[Tensor]:
        for _ in range(3):
            yield torch.randn(2)

    def loss(self, batch: Tensor) -> Tensor:
        self.batch += 1
        if self.batch == self.bad:
            return self.model.weight.sum() * torch.nan
        rows = nn.functional.embedding(torch.tensor([1, 3]), self.model.table, sparse=True)
        return (self.model.weight - torch.tensor([1.0, 2.0]) - 0.1 * batch).square().sum() + (
            rows - 1
        ).square().sum()

    def evaluate(self) -> dict[str, float]:
        self.evaluated += 1
        if self.scores is not None:
            return {"score": self.scores[self.evaluated - 1]}
        return {"score": -float((self.model.weight.detach() - torch.tensor([1.0, 2.0])).norm())}


def run(task: LineTask, checkpoint: Path | None = None, **settings: float) -> FitResult:
    loop = LoopSettings.parse({"learning_rate": 0.1, **settings})
    optimizers = optimizers_for(task.model, 0.1, sparse=[task.model.table])
    return fit(task, optimizers, loop, checkpoint=checkpoint, fingerprint="f")


def test_training_improves_and_leaves_rows_alone_that_no_batch_names() -> None:
    task = LineTask()
    result = run(task, epochs=20, patience=20)
    assert result.best["score"] > -0.3 > result.epochs[0]["score"]
    assert task.model.table[[0, 2]].abs().max() == 0
    assert (task.model.table[[1, 3]] - 1).abs().max() < 0.5


def test_the_best_epoch_is_kept_and_patience_ends_the_training() -> None:
    task = LineTask([0.0, 0.5, 0.9, 0.8, 0.7, 0.99])
    result = run(task, epochs=9, patience=2)
    assert (result.best_epoch, result.best["score"], len(result.epochs)) == (2, 0.9, 5)
    other = LineTask([0.0, 0.5, 0.9])
    run(other, epochs=2, patience=2)
    assert torch.equal(task.model.weight, other.model.weight)


def test_the_start_is_kept_where_no_epoch_was_better() -> None:
    task = LineTask([9.0, 0.1, 0.2, 0.0])
    result = run(task, epochs=9, patience=2)
    assert (result.best_epoch, result.best, len(result.epochs)) == (0, {"score": 9.0}, 3)
    assert task.model.weight.abs().max() == 0
    assert result.kept("score") == (
        "no epoch was better than the start (score 9.000): the weights of the start are kept"
    )
    assert run(LineTask([0.5, 0.1, 0.9]), epochs=2).kept("score") == (
        "epoch 2 was best (score 0.900; the start had 0.500): its weights are kept"
    )


def test_the_start_is_kept_by_a_training_that_was_resumed(tmp_path: Path) -> None:
    run(LineTask([9.0, 0.1]), tmp_path / "c", epochs=1)
    again = LineTask([0.2, 0.3])
    result = run(again, tmp_path / "c", epochs=9, patience=3)
    assert (result.best_epoch, again.evaluated, len(result.epochs)) == (0, 2, 4)
    assert again.model.weight.abs().max() == 0


def test_the_rate_decays_when_the_metric_stands_still() -> None:
    task = LineTask([0.0, 0.9, 0.8, 0.7])
    optimizers = optimizers_for(task.model, 0.1, sparse=[task.model.table])
    fit(task, optimizers, LoopSettings(epochs=3, patience=5, decay=0.5))
    assert [g["lr"] for o in optimizers for g in o.param_groups] == [0.025, 0.025]


def test_a_loss_that_is_no_number_stops_with_a_sentence() -> None:
    with pytest.raises(
        CociteError, match=r"training: the loss became nan in epoch 2, batch 2 \(lower learning_rate"
    ):
        run(LineTask(bad=5), epochs=3)


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = LineTask()
    expected = run(whole, epochs=5, patience=9)
    with pytest.raises(CociteError, match="epoch 4"):
        run(LineTask(bad=10), tmp_path / "c", epochs=5, patience=9)
    again = LineTask()
    result = run(again, tmp_path / "c", epochs=5, patience=9)
    assert again.batch == 6  # epochs 4 and 5 only
    assert torch.equal(again.model.weight, whole.model.weight)
    assert torch.equal(again.model.table, whole.model.table)
    assert result.best_epoch == expected.best_epoch
    assert [e["score"] for e in result.epochs] == [e["score"] for e in expected.epochs]


def test_a_checkpoint_of_another_training_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    run(LineTask(), tmp_path / "c", epochs=1)
    task = LineTask()
    optimizers = optimizers_for(task.model, 0.1, sparse=[task.model.table])
    with pytest.raises(InputError, match=r"another training .*--fresh"):
        checkpoints.load(tmp_path / "c", task.model, optimizers, fingerprint="g")
    (tmp_path / "c" / "progress.json").write_text("{}")
    with pytest.raises(IntegrityError, match=r"progress\.json"):
        checkpoints.load(tmp_path / "c", task.model, optimizers, fingerprint="f")


def test_no_epoch_begins_when_the_minutes_are_over() -> None:
    assert len(run(LineTask(), epochs=5, minutes=1e-9).epochs) == 1
