from __future__ import annotations

from dataclasses import replace

from cocite.training.engine.result import TrainResult
from cocite.training.engine.settings import ScheduleSettings


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


def test_it_says_where_the_schedule_was_when_the_minutes_were_over() -> None:
    ended = TrainResult(33, 33, {"fit": 0.9}, {"fit": 0.9}, {}, 60.0, 100, "minutes", planned=1_150)
    rising = ScheduleSettings(shape="linear", warmup=0.1)
    said = ended.cut_short(rising)
    assert said.startswith(
        "the minutes were over at step 33 of 1,150, where the learning rate was 29% of its highest"
    )
    assert "training.steps=33" in said
    assert replace(ended, reason="patience").cut_short(rising) == ""
    assert result(20, {}).cut_short(rising) == ""
