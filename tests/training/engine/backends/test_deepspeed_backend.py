"""What DeepSpeed gives is compared with the other backends in tests/integration/test_engine_processes.py."""

from __future__ import annotations

import pytest
from helpers.bag_task import BagTask, settings
from helpers.engine_runs import UNEVEN, far, run

from cocite.errors import ConfigError
from cocite.training.engine.loop import train
from cocite.training.engine.world import World

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("zero", [0, 2])
def test_one_process_trains_as_plain_torch(zero: int) -> None:
    changes = UNEVEN | {"backend": "deepspeed", "zero": zero}
    assert far(run(World(), UNEVEN), run(World(), changes)) < 1e-5


def test_parameters_of_their_own_optimizer_are_refused() -> None:
    chosen = settings(backend="deepspeed")
    with pytest.raises(ConfigError, match="deepspeed steps all weights alike.*set it to ddp"):
        train(BagTask(chosen, sparse=True), chosen, world=World())


def test_zero_2_refuses_a_weight_that_only_some_batches_use() -> None:
    with pytest.raises(ConfigError, match=r"uses other weights .* ZeRO 2 needs the same .*set it to 1"):
        run(World(), UNEVEN | {"backend": "deepspeed", "zero": 2}, rare=True)
