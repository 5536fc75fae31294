"""The entrypoints of the RayJobs under infra/kubernetes, on a Ray that has a GPU to give, as it is told."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.fake_gpus import ray_with_gpus
from helpers.kubernetes_files import JOBS, job
from helpers.synthetic import SyntheticCorpora
from helpers.untrained_encoders import untrained_encoders

pytestmark = pytest.mark.integration
SMALLER = {
    # A training that reserves a GPU needs one, and is refused where PyTorch finds none.
    "train": ["workers.gpus=0", "training.epochs=1", "objective.bag_epochs=0", "model.dimension=20"],
    "embed": [],
    "sweep": ["budget.trials=1", "protocol.best=1"],
}
"""What is added to each line, for this machine is small; all that stands in it remains."""
TO = {"train": "models/hatten", "embed": "vectors", "sweep": "sweeps/nnselect"}
MADE = {
    "train": "hatten/model.safetensors",
    "embed": "nnselect/manifest.json",
    "sweep": "best/nnselect/model.safetensors",
}
"""Where each writes to, and what is there afterwards."""


@pytest.fixture(scope="module")
def data(
    synthetic: SyntheticCorpora, mlflow_tables: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """What lies in /data of the cluster, which is the working folder of its containers, while Ray runs."""
    folder = tmp_path_factory.mktemp("data")
    corpus = synthetic(120, seed=3, sentences=True)
    shutil.copytree(corpus.path, folder / "corpus")
    untrained_encoders(corpus, folder / "model")
    shutil.copy(mlflow_tables, folder / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with ray_with_gpus(patch, gpus=1, cpus=4):
            yield folder


@pytest.mark.parametrize("name", JOBS)
def test_an_entrypoint_does_its_work(name: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, *words = shlex.split(job(name)["spec"]["entrypoint"].replace("/data/", f"{data}/"))
    assert program == "cocite"
    shutil.rmtree(data / TO[name], ignore_errors=True)  # of a test that is repeated
    code, _, err = call(capsys, *words, *SMALLER[name])
    assert code == 0, err
    assert (data / TO[name] / MADE[name]).is_file()
