"""The precision that is measured to be the fastest."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cocite.errors import ConfigError
from cocite.nn import precision
from cocite.nn.precision import WORTH, inference_dtype, multiplies_bf16, training_precision
from cocite.nn.variables import PRECISION


@pytest.fixture(autouse=True)
def _measured_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PRECISION)
    precision._speed_up.cache_clear()


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(WORTH + 0.1, torch.bfloat16), (WORTH - 0.1, torch.float32), (0.2, torch.float32)],
)
def test_bf16_must_be_clearly_faster(
    factor: float, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {torch.float32: factor, torch.bfloat16: 1.0}
    monkeypatch.setattr(precision, "_seconds", seconds.__getitem__)
    assert inference_dtype("cpu") == expected


def test_each_number_of_threads_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(precision, "_seconds", lambda dtype: measured.append(dtype) or 1.0)
    threads = iter([1, 1, 2])
    monkeypatch.setattr(torch, "get_num_threads", lambda: next(threads))
    for _ in range(3):
        inference_dtype(torch.device("cpu"))
    assert measured == [torch.float32, torch.bfloat16] * 2


def test_the_measurement_takes_a_time() -> None:
    assert precision._seconds(torch.float32) > 0
    precision._speed_up.cache_clear()


def test_one_precision_may_be_named_for_all_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_seconds", lambda _: pytest.fail("nothing is to be measured"))
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        monkeypatch.setenv(PRECISION, name)
        assert inference_dtype("cpu") == inference_dtype("cuda") == dtype
    monkeypatch.setenv(PRECISION, "fp16")
    with pytest.raises(ConfigError, match="COCITE_PRECISION is 'fp16', which is no precision") as error:
        inference_dtype("cpu")
    assert error.value.hint == "set it to auto, float32, bfloat16"


CPU = torch.device("cpu")


@pytest.mark.parametrize("has_bf16", [True, False])
def test_a_training_in_bf16_needs_instructions_for_it(
    has_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "multiplies_bf16", lambda: has_bf16)
    assert training_precision("bf16", CPU) == ("bf16" if has_bf16 else "fp32")
    assert training_precision("fp32", CPU) == "fp32"
    assert training_precision("bf16", torch.device("cuda")) == "bf16"
    for name, expected in (
        ("bfloat16", "bf16"),
        ("float32", "fp32"),
        ("auto", training_precision("bf16", CPU)),
    ):
        monkeypatch.setenv(PRECISION, name)
        assert training_precision("bf16", CPU) == expected


def test_the_instructions_are_those_that_the_kernel_lists() -> None:
    listed = Path("/proc/cpuinfo")
    flags = set(listed.read_text(encoding="utf-8").split()) if listed.is_file() else set()
    if "flags" not in flags:
        pytest.skip("no list of an x86 processor's instructions")
    assert multiplies_bf16() == bool(flags & {"avx512_bf16", "amx_bf16"})
