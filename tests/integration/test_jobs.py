"""Trainings on a cluster: submitted, followed, listed, stopped, with the exit code of what ran there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from helpers.ray_head import Head, head
from helpers.tiny_wheel import NAME, write_wheel
from moto.server import ThreadedMotoServer
from pyarrow import fs

from cocite.artifacts import verify
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic

pytestmark = pytest.mark.integration

SMALL = ["model.dimension=8", "training.batch=256", "training.epochs=1"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    with head(tmp_path_factory.mktemp("head")) as running:
        yield running


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(300, seed=11), tmp_path_factory.mktemp("synth") / "store")


RECIPE = """
kind: masked-lm
texts: {body: 0, vocabulary: 300, sequence: 32, dev_pieces: 20, period: {train_until: 2015}}
model: {hidden: 16, layers: 1, heads: 2, inner: 32}
training: {steps: 6, batch: 8, tokens: 512, evaluate_every: 3, log_every: 1}
workers: {count: 2}
"""


def test_a_recipe_file_travels_and_trains_on_the_clusters_workers(
    cluster: Head, corpus: Corpus, tmp_path: Path
) -> None:
    recipe = tmp_path / "ours.yaml"
    recipe.write_text(RECIPE)
    places = ["--corpus", corpus.path, "--to", tmp_path / "model"]
    done = cluster.cocite("job", "submit", recipe, "model.inner=24", *places)
    assert done.returncode == 0, done.stderr + done.stdout
    steps = re.findall(r"^step (\d+): loss", done.stdout, re.MULTILINE)
    assert steps == [str(step) for step in range(1, 7)]
    assert "succeeded after" in done.stderr
    assert verify(tmp_path / "model" / "masked-lm").meta["recipe"]["model"]["inner"] == 24
    listed = cluster.cocite("job", "list", "--json")
    [job] = json.loads(listed.stdout)
    assert (job["subject"], job["status"], job["exit_code"]) == ("ours.yaml", "SUCCEEDED", 0)
    assert job["command"].startswith(
        "CUDA_VISIBLE_DEVICES= python -m cocite train ours.yaml model.inner=24 --corpus /"
    )
    assert cluster.cocite("job", "logs", job["id"]).stdout == done.stdout


def test_a_command_that_no_node_has_room_for_is_refused_and_waits_if_asked_to(cluster: Head) -> None:
    line = ["job", "submit", "index", "/corpus", "--to", "/index", "--driver-gpus", "1"]
    refused = cluster.cocite(*line)
    assert refused.returncode == 2
    assert "reserves 1 CPU, 1 GPU, and no node of the cluster has that (pass --wait" in refused.stderr
    waiting = cluster.cocite(
        *line, "--wait", "--detach", "--name", "patient", "--json", "--env", "KEY=s3cret"
    )
    assert waiting.returncode == 0, waiting.stderr
    assert json.loads(waiting.stdout)["status"] == "PENDING"
    listed = cluster.cocite("job", "list")
    assert re.search(r"patient .* index build .* pending", listed.stdout)
    assert "s3cret" not in listed.stdout + waiting.stdout + cluster.cocite("job", "list", "--json").stdout
    again = cluster.cocite(*line, "--wait", "--name", "patient")
    assert "the cluster refused:" in again.stderr
    assert "patient" in again.stderr
    stopped = cluster.cocite("job", "stop", "patient")
    assert stopped.returncode == 0
    assert "Job patient waits for a node: Ray stops it when it has one" in stopped.stderr


def test_a_file_of_queries_travels_and_is_ranked(cluster: Head, corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "q", "title": corpus.paper(3).title}) + "\n")
    places = ["--corpus", corpus.path, "--to", tmp_path / "run.trec", "--pipeline", "bm25", "--k", 5]
    done = cluster.cocite("job", "submit", "rank", "--queries", "queries.jsonl", *places, folder=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert len((tmp_path / "run.trec").read_text().splitlines()) == 5


def test_a_job_reads_and_writes_a_store_by_the_variables_that_it_is_given(
    cluster: Head, corpus: Corpus, tmp_path: Path
) -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        store = "{}:{}".format(*server.get_host_and_port())
        keys = {"access_key": "key", "secret_key": "s3cret", "region": "us-east-1"}
        files = fs.S3FileSystem(**keys, endpoint_override=store, scheme="http", allow_bucket_creation=True)
        files.create_dir("bucket")
        with files.open_output_stream("bucket/queries.jsonl") as stream:
            stream.write(json.dumps({"id": "q", "title": corpus.paper(3).title}).encode())
        given = {
            "AWS_ENDPOINT_URL": f"http://{store}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "s3cret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        line = ["--queries", "s3://bucket/queries.jsonl", "--to", "s3://bucket/run.trec"]
        line += ["--corpus", corpus.path, "--pipeline", "bm25", "--k", 5]
        variables = (("--env", f"{name}={value}") for name, value in given.items())
        done = cluster.cocite("job", "submit", "rank", *line, *chain.from_iterable(variables))
        assert done.returncode == 0, done.stderr + done.stdout
        assert "s3cret" not in done.stderr + done.stdout
        with files.open_input_stream("bucket/run.trec") as stream:
            assert len(stream.read().splitlines()) == 5
    finally:
        server.stop()


@pytest.mark.skipif(
    "COCITE_TEST_PIP" not in os.environ,
    reason="Ray copies the whole environment, 3.4 GB, for a job's packages: set COCITE_TEST_PIP=1",
)
def test_a_job_has_the_packages_that_it_is_given(cluster: Head, corpus: Corpus, tmp_path: Path) -> None:
    write_wheel(tmp_path, "good morning")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"--no-index\n--find-links {tmp_path}\n{NAME}\n")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "q", "title": corpus.paper(3).title}) + "\n")
    places = ["--corpus", corpus.path, "--to", tmp_path / "run.trec", "--pipeline", "bm25"]
    line = ["rank", "--queries", "queries.jsonl", *places, "--pip", requirements]
    done = cluster.cocite("job", "submit", *line, folder=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "good morning" in done.stdout
    assert (tmp_path / "run.trec").is_file()


def test_a_job_that_fails_ends_with_its_code_and_its_sentence(
    cluster: Head, corpus: Corpus, tmp_path: Path
) -> None:
    done = cluster.cocite(
        "job", "submit", "nnrank", "--corpus", corpus.path, "--to", tmp_path / "model", "--json"
    )
    assert done.returncode == 2
    assert "holds no nnselect, which nnrank is trained on" in done.stderr
    assert json.loads(done.stdout)["status"] == "FAILED"


def test_ctrl_c_leaves_a_job_running_and_stop_ends_it(cluster: Head, corpus: Corpus, tmp_path: Path) -> None:
    long = ["training.epochs=100000", "training.patience=100000"]
    done = cluster.cocite(
        "job", "submit", "nnselect", *SMALL[:2], *long, "--corpus", corpus.path, "--to", tmp_path / "model",
        "--detach", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    id_ = json.loads(done.stdout)["id"]
    command = [sys.executable, "-m", "cocite", "job", "logs", id_, "-f", "--address", cluster.dashboard]
    following = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cluster.environment,
        # Where the tests run in the background, Ctrl-C is ignored, and children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert following.stdout is not None
    # The metrics of a step after the start: it is running.
    assert any(re.match(r"step [1-9]", line) for line in following.stdout)
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=240)
    assert following.returncode == 130
    assert f"The job goes on. Follow it: cocite job logs {id_} --follow" in err
    stopped = cluster.cocite("job", "stop", id_, "--json")
    assert stopped.returncode == 0, stopped.stderr
    assert json.loads(stopped.stdout)["status"] == "STOPPED"
    again = cluster.cocite("job", "stop", id_)
    assert again.returncode == 2
    assert f"job {id_!r} has already ended: stopped" in again.stderr
    # It wrote a checkpoint when it was stopped, from which another job goes on.
    log = cluster.cocite("job", "logs", id_).stdout
    assert re.search(r"stopped after step \d+; its checkpoint is kept", log)
    places = ["--corpus", corpus.path, "--to", tmp_path / "model"]
    # Minutes are counted from the first start on: three seconds more than the checkpoint has.
    checkpoints = [json.loads(path.read_text()) for path in (tmp_path / "model").rglob("progress.json")]
    minutes = (max(progress["seconds"] for progress in checkpoints) + 3) / 60
    more = [f"training.minutes={minutes}", *places, "--resume"]
    resumed = cluster.cocite("job", "submit", "nnselect", *SMALL[:2], *long, *more)
    assert resumed.returncode == 0, resumed.stderr + resumed.stdout
    # The lines of the steps before, with their tokens per second, and new ones.
    before, after = (re.findall(r"^step \d+: .*", text, re.MULTILINE) for text in (log, resumed.stdout))
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert verify(tmp_path / "model" / "nnselect")


def test_an_unknown_job_is_told(cluster: Head) -> None:
    done = cluster.cocite("job", "logs", "raysubmit_nothing")
    assert done.returncode == 2
    assert "no job 'raysubmit_nothing'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_a_sweep_file_travels_and_its_trials_run_on_the_cluster(
    cluster: Head, corpus: Corpus, tmp_path: Path
) -> None:
    sweep = {
        "name": "ours",
        "study": {
            "kind": "training",
            "recipe": "nnselect",
            "set": {"training.epochs": 1, "training.batch": 256},
        },
        "space": {"model.dimension": {"choice": [4, 8]}},
        "metric": {"name": "R@20"},
        "start": [],
    }
    (tmp_path / "ours.yaml").write_text(json.dumps(sweep))
    places = ["--corpus", corpus.path, "--to", tmp_path / "sweep"]
    done = cluster.cocite(
        "job", "submit", "tune", tmp_path / "ours.yaml", "budget.trials=2", *places, "--json"
    )
    assert done.returncode == 0, done.stderr + done.stdout
    trials = json.loads((tmp_path / "sweep" / "trials.json").read_text())["trials"]
    assert [trial["state"] for trial in trials] == ["finished", "finished"]
    assert verify(tmp_path / "sweep" / "best" / "nnselect")
    again = cluster.cocite(
        "job", "submit", "tune", tmp_path / "ours.yaml", "budget.trials=3", *places, "--resume", "--json"
    )
    assert again.returncode == 0, again.stderr
    assert json.loads((tmp_path / "sweep" / "trials.json").read_text())["trials"][:2] == trials
