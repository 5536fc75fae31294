"""Machines of a cluster die and join: a step goes on with those that are left, and waits where there are none.

All processes of a machine are killed at once, Ray's own included, and nothing of its disk is read again.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator

import pytest
from helpers.machines import Machine
from helpers.shared_nothing import Cluster, start_worker
from helpers.stocked_cluster import CORPUS, INDEX, MODEL, QUERIES, machines_of

pytestmark = [pytest.mark.integration, pytest.mark.thorough]
STEP_S = 600
EMBED = f"embed {CORPUS} --model {MODEL} --on ray"
RANK = f"rank --queries {QUERIES} --index {INDEX} --pipeline bm25 --to s3://bucket/late/run.trec"
HATTEN = (
    "train hatten objective.bag_epochs=0 training.epochs=2 training.checkpoint_every=2 workers.count=[1,2] "
    f"workers.start_timeout=30 --corpus {CORPUS} --to s3://bucket/lost/model --no-track"
)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with machines_of(tmp_path_factory.mktemp("lost")) as running:
        running.head.environment["RAY_AUTH_MODE"] = "token"
        yield running


def at(cluster: Cluster, command: str) -> str:
    return f"exec cocite {command} --address {cluster.head.address}:6390"


def die(machine: Machine) -> None:
    """Kill all processes of a machine, but for its first, which is no program of a cluster."""
    machine.run("kill -KILL -1")


def wait_for_nodes(cluster: Cluster, count: int) -> None:
    """Wait until the head knows of so many live nodes: it takes a while to notice that one has died."""
    program = f"""
import ray, time
ray.init(address="auto", log_to_driver=False)
deadline = time.monotonic() + {STEP_S}
while sum(node["Alive"] for node in ray.nodes()) != {count}:
    assert time.monotonic() < deadline, ray.nodes()
    time.sleep(0.5)
"""
    waited = cluster.head.run([sys.executable, "-c", program], timeout=2 * STEP_S)
    assert waited.returncode == 0, waited.stderr


def wait_until_pending(cluster: Cluster, job: str) -> None:
    """Wait until the cluster has a job that waits for a node."""
    deadline = time.monotonic() + STEP_S
    while True:
        listed = cluster.desk.run([sys.executable, "-m", "cocite", "job", "list", "--json"])
        found = {each["id"]: each["status"] for each in json.loads(listed.stdout or "[]")}
        if job in found:
            assert found[job] == "PENDING"
            return
        assert time.monotonic() < deadline, listed.stderr
        time.sleep(0.5)


def test_a_machine_dies_and_the_others_make_its_parts(cluster: Cluster) -> None:
    whole = cluster.head.run(at(cluster, f"{EMBED} --to s3://bucket/whole/vectors"), timeout=STEP_S)
    assert whole.returncode == 0, whole.stderr
    running = cluster.head.start(at(cluster, f"{EMBED} --to s3://bucket/lost/vectors"))
    with cluster.held.request("PUT /lost/vectors/ .npy") as wait:
        wait()
        die(cluster.workers[1])
    _, err = running.communicate(timeout=STEP_S)
    assert running.returncode == 0, err
    assert cluster.files("lost/vectors") == cluster.files("whole/vectors")

    # With the last machine the step has nowhere to go on: without --wait it is refused, with it a new one does it.
    die(cluster.workers[0])
    wait_for_nodes(cluster, 1)
    refused = cluster.head.run(at(cluster, f"{EMBED} --to s3://bucket/late/vectors"), timeout=STEP_S)
    assert refused.returncode == 2, refused.stderr
    assert "a worker needs 1 CPU, and no node has them" in " ".join(refused.stderr.split())
    running = cluster.head.start(at(cluster, f"{EMBED} --to s3://bucket/late/vectors --wait"))
    # So does a job: Ray has nowhere to run its command, and does when the machine is there.
    job = cluster.desk.start(f"exec {sys.executable} -m cocite job submit {RANK} --wait --name late")
    wait_until_pending(cluster, "late")
    start_worker(cluster, 0)
    for process in (running, job):
        out, err = process.communicate(timeout=STEP_S)
        assert process.returncode == 0, err + out
    assert cluster.files("late/vectors") == cluster.files("whole/vectors")
    assert len(cluster.files("late/run.trec")["run.trec"].splitlines()) > 0


def test_a_machine_dies_and_an_elastic_training_goes_on_with_one_worker(cluster: Cluster) -> None:
    running = cluster.head.start(at(cluster, HATTEN))
    with cluster.held.request("PUT .hatten.training/step-") as wait:
        wait()
        die(cluster.workers[1])
    out, err = running.communicate(timeout=STEP_S)
    assert running.returncode == 0, err + out
    files = cluster.files("lost/model")
    assert json.loads(files["hatten/manifest.json"])["kind"] == "hatten"


def test_a_training_saves_itself_before_a_machine_is_taken_away(cluster: Cluster) -> None:
    endless = HATTEN.replace("epochs=2", "epochs=1000000").replace("every=2", "every=1000000")
    running = cluster.head.start(at(cluster, endless.replace("[1,2]", "2").replace("/lost/", "/drained/")))
    deadline = time.monotonic() + STEP_S
    while not (at_work := [each for each in cluster.workers if each.kill("RayTrainWorker", 0)]):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline, "no worker has begun"
        time.sleep(0.5)
    with cluster.held.request("PUT .hatten.training/step-") as wait:
        assert not [name for name in cluster.names("drained/model") if "/step-" in name]
        why = "--reason DRAIN_NODE_REASON_PREEMPTION --reason-message spot --deadline-remaining-seconds 600"
        drained = at_work[0].run(f"ray drain-node --address {cluster.head.address}:6390 {why}")
        assert drained.returncode == 0, drained.stderr
        wait()
    assert cluster.head.kill("cocite train hatten", signal.SIGTERM)
    _, err = running.communicate(timeout=STEP_S)
    assert running.returncode != 0
    assert "Traceback" not in err
    assert [name for name in cluster.names("drained/model") if "/step-" in name]
