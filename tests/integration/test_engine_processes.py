"""Several processes give what one gives, whatever the backend, and take up one another's checkpoints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.engine_runs import UNEVEN, Run, far, run
from helpers.many_processes import together

from cocite.artifacts import verify
from cocite.errors import CociteError, ConfigError
from cocite.nn.variables import PRECISION
from cocite.training.engine.world import World

pytestmark = pytest.mark.integration

BACKENDS: dict[str, dict[str, Any]] = {
    "ddp": {"backend": "ddp"},
    "zero0": {"backend": "deepspeed", "zero": 0},
    "zero1": {"backend": "deepspeed", "zero": 1},
    "zero2": {"backend": "deepspeed", "zero": 2},
    "zero3": {"backend": "deepspeed", "zero": 3},
    "zero1-offload": {"backend": "deepspeed", "zero": 1, "offload": True},
    "zero2-offload": {"backend": "deepspeed", "zero": 2, "offload": True},
    "zero3-offload": {"backend": "deepspeed", "zero": 3, "offload": True},
}
RESUMED = ("ddp", "zero1", "zero2", "zero3", "zero3-offload")
TAKEN_UP = ("ddp", "zero2", "zero3")
KILL = 9  # in the middle of an epoch, after its lengths have changed


def everywhere(world: World, folder: Path) -> dict[str, Run]:
    """What two processes do: each backend straight through; killed and resumed; resumed from one plain process."""
    found: dict[str, Run] = {}
    for name, backend in BACKENDS.items():
        found[name] = run(world, UNEVEN | backend)
    for name in RESUMED:
        run(world, UNEVEN | BACKENDS[name], folder / name, kill=KILL)
        if world.first:
            shutil.copytree(folder / name, folder / f"{name} to plain")
            if name == "zero3":
                shutil.copytree(folder / name, folder / "zero3 to zero1")
        world.barrier()
        found[f"{name} to {name}"] = run(world, UNEVEN | BACKENDS[name], folder / name)
    for name in TAKEN_UP:
        found[f"plain to {name}"] = run(world, UNEVEN | BACKENDS[name], folder / f"plain to {name}")
    found["zero3 to zero1"] = run(world, UNEVEN | BACKENDS["zero1"], folder / "zero3 to zero1")
    for name in ("ddp", "zero1"):
        found[f"rare {name}"] = run(world, UNEVEN | BACKENDS[name], rare=True)
    found["sparse"] = run(world, UNEVEN | BACKENDS["ddp"], sparse=True)
    run(world, UNEVEN | BACKENDS["ddp"], folder / "sparse", kill=KILL, sparse=True)
    found["sparse resumed"] = run(world, UNEVEN | BACKENDS["ddp"], folder / "sparse", sparse=True)
    os.environ[PRECISION] = "bfloat16"
    for name in ("ddp", "zero1", "zero2", "zero3"):
        found[f"bf16 {name}"] = run(
            world, UNEVEN | BACKENDS[name] | {"precision": "bf16"}, folder / f"bf16 {name}", kill=0
        )
    os.environ[PRECISION] = "bfloat16" if world.first else "float32"
    found["bf16 on one"] = run(world, UNEVEN | BACKENDS["zero1"] | {"precision": "bf16"})
    return found


def refused(world: World, folder: Path) -> list[str]:
    """The sentences that two processes end with."""
    sentences = []
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"backend": "plain"}, {}),
        ({}, {"fingerprint": "another"}),
        (BACKENDS["zero1"], {"scalar": True}),
    ]
    for changes, options in cases:
        try:
            run(world, {"backend": "ddp"} | changes, None if "scalar" in options else folder, **options)
        except CociteError as error:
            sentences.append(str(error))
    return sentences


@pytest.fixture(scope="module")
def straight() -> Run:
    return run(World(), UNEVEN)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    run(World(), UNEVEN, folder / "plain", kill=KILL)
    for name in TAKEN_UP:
        shutil.copytree(folder / "plain", folder / f"plain to {name}")
    return folder


@pytest.fixture(scope="module")
def ranks(stores: Path) -> list[dict[str, Run]]:
    return together(everywhere, stores)


@pytest.mark.parametrize("name", BACKENDS)
def test_two_processes_give_the_losses_and_weights_of_one(
    ranks: list[dict[str, Run]], straight: Run, name: str
) -> None:
    assert ranks[0][name].losses.keys() == straight.losses.keys()
    assert ranks[0][name].outcome.best_step == straight.outcome.best_step
    assert far(straight, ranks[0][name]) < 1e-5


def test_all_ranks_hold_the_best_weights_and_only_the_first_speaks(ranks: list[dict[str, Run]]) -> None:
    for name in ranks[0]:
        for weight, value in ranks[0][name].weights.items():
            assert (value == ranks[1][name].weights[weight]).all(), (name, weight)
        assert not ranks[1][name].logged


def test_each_example_is_seen_by_one_rank(ranks: list[dict[str, Run]]) -> None:
    one, two = ranks[0]["ddp"].seen, ranks[1]["ddp"].seen
    assert set(one) | set(two) == set(range(50))
    assert len(one) > 40
    assert len(two) > 40


@pytest.mark.parametrize(
    "way", [f"{n} to {n}" for n in RESUMED] + [f"plain to {n}" for n in TAKEN_UP] + ["zero3 to zero1"]
)
def test_two_processes_resume(ranks: list[dict[str, Run]], straight: Run, way: str) -> None:
    assert min(ranks[0][way].losses) == KILL + 1
    assert far(straight, ranks[0][way]) < 1e-5


@pytest.mark.parametrize("name", RESUMED)
def test_one_process_resumes_what_two_began(
    ranks: list[dict[str, Run]], stores: Path, straight: Run, name: str
) -> None:
    assert verify(stores / f"{name} to plain" / f"step-{KILL:08d}").files.keys() >= {
        "shard-00000.safetensors",
        "shard-00001.safetensors",
    }
    resumed = run(World(), UNEVEN, stores / f"{name} to plain")
    assert min(resumed.losses) == KILL + 1
    assert far(straight, resumed) < 1e-5


@pytest.mark.parametrize("name", ["ddp", "zero1"])
def test_a_weight_that_only_some_batches_use_is_exchanged_rightly(
    ranks: list[dict[str, Run]], name: str
) -> None:
    assert far(run(World(), UNEVEN, rare=True), ranks[0][f"rare {name}"]) < 1e-5


@pytest.mark.parametrize("name", ["sparse", "sparse resumed"])
def test_sparse_gradients_of_two_processes_are_those_of_one(ranks: list[dict[str, Run]], name: str) -> None:
    assert far(run(World(), UNEVEN, sparse=True), ranks[0][name]) < 1e-5


def test_zero_2_refuses_a_weight_that_only_some_batches_use() -> None:
    with pytest.raises(ConfigError, match="uses other weights .* ZeRO 2 needs the same .*set it to 1"):
        run(World(), UNEVEN | BACKENDS["zero2"], rare=True)


@pytest.mark.parametrize("name", ["ddp", "zero1", "zero2", "zero3"])
def test_bf16_trains_near_fp32_and_keeps_fp32_weights(
    ranks: list[dict[str, Run]], stores: Path, straight: Run, name: str
) -> None:
    half = ranks[0][f"bf16 {name}"]
    assert half.losses != straight.losses
    assert far(straight, half) < 0.3


def test_all_compute_in_fp32_where_one_has_no_bf16(ranks: list[dict[str, Run]], straight: Run) -> None:
    assert [found["bf16 on one"].outcome.precision for found in ranks] == ["fp32", "fp32"]
    assert far(straight, ranks[0]["bf16 on one"]) < 1e-5


def test_two_processes_are_refused_together(stores: Path, ranks: list[dict[str, Run]]) -> None:
    one, two = together(refused, stores / "ddp")
    assert one == two
    assert "backend: plain trains on one process, and there are 2" in one[0]
    assert "is a checkpoint of another training" in one[1]
    assert "the weight 'scalar' has no dimension" in one[2]


def test_it_runs_under_torchrun(tmp_path: Path, straight: Run, root: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from helpers.engine_runs import UNEVEN, run\n"
        "from cocite.training.engine.world import World\n"
        "world = World.join(timeout=600)\n"
        "done = run(world, UNEVEN | {'backend': 'ddp'})\n"
        "if world.first:\n"
        "    print('size', world.size, 'best', done.outcome.best['fit'])\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    done = subprocess.run(
        [*command, "--nproc-per-node=2", str(script)],
        env=os.environ | {"PYTHONPATH": str(root / "tests")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    line = next(line.split() for line in done.stdout.splitlines() if line.startswith("size"))
    assert line[1] == "2"
    assert float(line[3]) == pytest.approx(straight.outcome.best["fit"], rel=1e-5)
