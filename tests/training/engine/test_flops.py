from __future__ import annotations

import pytest
import torch

from cocite.training.engine.flops import known_peak, peak_flops


@pytest.mark.parametrize(
    ("name", "bf16"),
    [
        ("NVIDIA H200", 989e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA L4", 121e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA A10G", 70e12),
    ],
)
def test_a_known_gpu_is_found_by_its_name(name: str, bf16: float) -> None:
    assert known_peak(name, "bf16") == bf16


def test_an_unknown_gpu_is_not_guessed() -> None:
    assert known_peak("Some Other Card", "bf16") is None


def test_a_cpu_is_measured_once() -> None:
    first = peak_flops(torch.device("cpu"), "fp32")
    assert 1e8 < first < 1e14
    assert peak_flops(torch.device("cpu"), "fp32") == first
