from __future__ import annotations

import time

import pytest
import torch

from cocite.errors import CociteError
from cocite.training.engine import meter as meters
from cocite.training.engine.meter import Meter, check_number
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(meters, "peak_flops", lambda device, precision: 1000.0)
    return now


def test_means_and_rates_are_those_since_the_last_reading(clock: list[float]) -> None:
    meter = Meter(World(device=torch.device("cpu")), TrainingSettings())
    meter.add(2.0, 0.1, 3.0, 50, 400.0)
    meter.add(4.0, 0.2, 5.0, 150, 600.0)
    clock[0] += 4.0
    assert meter.read() == {
        "loss": 3.0,
        "learning_rate": 0.2,
        "gradient_norm": 4.0,
        "tokens_per_second": 50.0,
        "mfu": pytest.approx(0.25),
    }
    meter.add(1.0, 0.3, 1.0, 10, 10.0)
    clock[0] += 1.0
    assert meter.read()["tokens_per_second"] == 10.0


def test_a_pause_takes_no_time(clock: list[float]) -> None:
    meter = Meter(World(), TrainingSettings())
    with meter.paused():
        clock[0] += 60.0
    meter.add(1.0, 0.1, 1.0, 30, 0.0)
    clock[0] += 3.0
    assert meter.read()["tokens_per_second"] == pytest.approx(10.0)


def test_a_share_of_the_peak_is_left_out_where_the_work_is_not_known(clock: list[float]) -> None:
    meter = Meter(World(), TrainingSettings())
    meter.add(1.0, 0.1, 1.0, 30, 0.0)
    clock[0] += 1.0
    assert "mfu" not in meter.read()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    check_number(1.5, "loss", 3)
    with pytest.raises(CociteError, match=r"the gradient became (nan|inf) in step 4 .*lower optimizer"):
        check_number(value, "gradient", 3)
