"""A GPU that Ray gives and PyTorch does not find ends a training at once."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers.bag_runs import STEPS, long_recipe, train_bag
from helpers.fake_gpus import ray_with_gpus

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite_jobs.training import torch_workers
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.torch_workers import check_gpu, group_config, raise_refusal, refuse
from cocite_jobs.training.train import open_session
from cocite_jobs.training.types import LaunchOptions

pytestmark = pytest.mark.usefixtures("bag_kind")
FREE_S = 60
"""Seconds in which Ray has to tell that the worker's GPU is free."""
NONE = r"^workers\.gpus: Ray has given a worker a GPU on .*, and PyTorch finds none there \(install"


@pytest.fixture
def ray_that_pretends() -> Iterator[None]:
    """A Ray that was told of a GPU, on a machine where PyTorch has none."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.MonkeyPatch.context() as patch, ray_with_gpus(patch, gpus=1):
        yield


@pytest.mark.integration
@pytest.mark.usefixtures("ray_that_pretends")
def test_a_pretended_gpu_is_one_sentence_and_is_not_tried_again(corpus: Corpus, tmp_path: Path) -> None:
    import ray

    stages: list[str] = []
    options = LaunchOptions(on="ray", wait=True)  # which lets a training wait for resources without an end
    recipe = long_recipe("workers.count=1", "workers.gpus=1", "workers.retries=-1")
    with (
        open_session(recipe, corpus, tmp_path, options) as session,
        pytest.raises(InputError, match=NONE) as caught,
    ):
        session.train(ProgressFunctions(stage=lambda name, _: stages.append(name)))
    assert caught.value.__cause__ is None
    assert stages.count("starting workers") == 1
    until = time.monotonic() + FREE_S
    while not ray.available_resources().get("GPU") and time.monotonic() < until:
        time.sleep(0.1)
    assert ray.available_resources().get("GPU") == 1  # the next training need not wait for it
    _, losses = train_bag(corpus, tmp_path, "workers.count=1", "workers.gpus=0")
    assert len(losses) == STEPS


@pytest.mark.parametrize(
    ("gpu", "nccl", "sentence"),
    [
        (False, True, NONE),
        (False, False, NONE),
        (True, False, r"^workers\.gpus: PyTorch on .* was built without NCCL"),
        (True, True, None),
    ],
)
def test_what_pytorch_lacks_is_said(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, nccl: bool, sentence: str | None
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: nccl)
    if sentence is None:
        check_gpu()
        return
    with pytest.raises(InputError, match=sentence):
        check_gpu()


def test_a_refusal_of_any_worker_is_raised_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_workers, "_refusals", [])
    raise_refusal()
    refuse(InputError("no GPU on one of them"))
    with pytest.raises(InputError, match="^no GPU on one of them$"):
        raise_refusal()


def test_with_gpus_it_is_rays_own_configuration_otherwise() -> None:
    from ray.train.torch import TorchConfig

    config = group_config(use_gpu=True, timeout=30)
    assert config.to_dict() == TorchConfig(timeout_s=30).to_dict()
    assert issubclass(config.backend_cls, TorchConfig().backend_cls)
    assert config.backend_cls is not TorchConfig().backend_cls


# The process that controls workers loads their configuration, and waits for what that imports.
LOADED = """
import base64, sys, pickle
config = pickle.loads(base64.b64decode(sys.stdin.read()))
config.backend_cls()
assert "ray.train" in sys.modules
print("torch" in sys.modules)
"""


@pytest.mark.parametrize("use_gpu", [False, True])
def test_on_cpus_no_configuration_imports_pytorch(use_gpu: bool) -> None:
    from ray import cloudpickle

    written = base64.b64encode(cloudpickle.dumps(group_config(use_gpu=use_gpu, timeout=30)))
    done = subprocess.run([sys.executable, "-c", LOADED], input=written, capture_output=True)
    assert (done.stdout.decode().strip(), done.stderr.decode()) == (str(use_gpu), "")
