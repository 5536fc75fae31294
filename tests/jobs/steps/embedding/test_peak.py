from __future__ import annotations

import torch

from cocite_jobs.steps.embedding.peak import core_peak, device_peak, one_core


def test_a_cores_peak_is_plausible_and_measured_once() -> None:
    assert 1e8 < core_peak(repeats=2) < 1e13
    assert 1e7 < core_peak(torch.int8, repeats=1) < 1e14
    assert device_peak(torch.float32) == device_peak(torch.float32)


def test_threads_are_as_before() -> None:
    before = torch.get_num_threads()
    with one_core():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
