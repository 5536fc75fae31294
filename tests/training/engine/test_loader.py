from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch

from cocite.training.engine.loader import prepared, to_device


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_the_order_is_that_of_the_items(threads: int) -> None:
    def slow_first(item: int) -> int:
        time.sleep(0.01 if item % 3 == 0 else 0)
        return item * item

    with prepared(slow_first, range(30), threads=threads) as results:
        assert list(results) == [item * item for item in range(30)]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_an_error_comes_where_its_batch_would_have(threads: int) -> None:
    def failing(item: int) -> int:
        if item == 5:
            raise ValueError("item five")
        return item

    seen = []
    with (
        pytest.raises(ValueError, match="item five"),
        prepared(failing, range(20), threads=threads) as results,
    ):
        for result in results:
            seen.append(result)  # noqa: PERF402
    assert seen == [0, 1, 2, 3, 4]


def test_an_error_in_the_items_is_raised() -> None:
    def items():
        yield 1
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"), prepared(str, items(), threads=2) as results:
        list(results)


def test_it_works_only_so_far_ahead_and_stops() -> None:
    made = []
    before = set(threading.enumerate())
    with prepared(made.append, range(1000), threads=2) as results:
        for _ in range(10):
            next(results)
        time.sleep(0.05)
        assert len(made) <= 10 + 6
    assert set(threading.enumerate()) <= before
    assert len(made) <= 10 + 6


class Pair(NamedTuple):
    one: torch.Tensor
    two: list[torch.Tensor]


@dataclass
class Batch:
    tokens: torch.Tensor
    more: dict[str, Pair]
    name: str = "batch"


def test_tensors_are_moved_however_deep() -> None:
    batch = Batch(torch.ones(2), {"pair": Pair(torch.ones(1), [torch.ones(3)])})
    moved = to_device(batch, torch.device("meta"))
    assert isinstance(moved, Batch)
    assert moved.name == "batch"
    tensors = [moved.tokens, moved.more["pair"].one, *moved.more["pair"].two]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
