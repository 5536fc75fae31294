from __future__ import annotations

import pytest

from cocite.errors import InputError
from cocite_jobs.cluster.driver_resources import HEAD, WAITING, DriverResources


def test_one_node_must_have_all_that_a_command_reserves() -> None:
    nodes = [{"CPU": 1.0, "GPU": 4.0}, {"CPU": 8.0, "memory": 2.0**33}]
    DriverResources(8, memory=2**33).check(nodes)
    DriverResources(0).check([{}])
    with pytest.raises(InputError, match=r"reserves 2 CPU, 1 GPU, 16 GiB of memory, 1 disk, and no node"):
        DriverResources(2, 1, 2**34, {"disk": 1}).check(nodes)


def test_a_command_that_waits_reserves_nothing_where_the_head_offers_cpus() -> None:
    assert DriverResources(WAITING).on([{HEAD: 1.0, "CPU": 2.0}]).options() == {}
    assert DriverResources(WAITING).on([{HEAD: 1.0}, {"CPU": 2.0}]).cpus == WAITING
    assert DriverResources(1).on([{HEAD: 1.0, "CPU": 2.0}]).cpus == 1
