from __future__ import annotations

from cocite.training.engine.result import TrainResult


def result(best_step: int, start: dict[str, float]) -> TrainResult:
    return TrainResult(30, best_step, {"fit": 0.9}, {"fit": 0.7}, start, 1.5, 100, "done")


def test_it_says_which_weights_were_kept() -> None:
    assert result(20, {"fit": 0.5}).kept("fit") == (
        "step 20 was best (fit 0.900; the start had 0.500): its weights are kept"
    )
    assert result(0, {"fit": 0.9}).kept("fit") == (
        "no step was better than the start (fit 0.900): the weights of the start are kept"
    )


def test_the_start_of_a_training_of_an_earlier_version_is_not_known() -> None:
    assert result(20, {}).kept("fit") == "step 20 was best (fit 0.900): its weights are kept"
