"""A cluster of a head and two workers that share nothing but an S3 server, started as docs/cluster.md says."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from helpers import s3_server
from helpers.machines import Machine, machines
from helpers.sources import ROOT

PAGE = ROOT / "docs" / "cluster.md"
ROLES = ("head", "worker", "desk", "cloud")
"""Who types the commands of a block of the page, the second word of its fence; ``cloud`` needs one to run in."""
GCS_PORT, AGENT_PORT, MEMORY = 6390, 52400, 100_000_000
START_S = 240
STARTS = 4
"""Attempts to start a node: Ray gives one 30 s, which a busy machine exceeds."""


def blocks(language: str) -> list[tuple[str, str]]:
    """The page's blocks of a language: the rest of the line that opens the fence, and the content."""
    found = re.findall(r"^```(\S*) *([^\n]*)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [(info, text) for name, info, text in found if name == language]


def typed_by(role: str) -> list[str]:
    """The command lines of the page that are typed on a machine, in the page's order."""
    return [line for info, text in blocks("bash") if info == role for line in text.splitlines()]


@dataclass(frozen=True)
class Cluster:
    """What runs.

    Attributes:
        head, desk: the head, and the machine of the user, who sends jobs.
        workers: the machines that work; each has two CPUs.
        shared: a folder that the desk and the test see, the desk's working directory.
        held: holds requests to the S3 server.
    """

    head: Machine
    desk: Machine
    workers: tuple[Machine, Machine]
    shared: Path
    held: s3_server.Held

    def names(self, prefix: str) -> set[str]:
        """The rest of the names of the bucket's objects whose names begin so; others may come and go meanwhile."""
        program = f"""
from cocite_jobs.storage.location import Location
print(*Location.of("s3://bucket/{prefix}").files_below(), sep="\\n")
"""
        done = self.desk.run([sys.executable, "-c", program])
        assert done.returncode == 0, done.stderr
        return set(done.stdout.split("\n")) - {""}

    def files(self, prefix: str) -> dict[str, bytes]:
        """The objects of the bucket whose names begin so, by the rest of their names; none of them changes now."""
        copy = self.shared / "copy"
        program = f"""
import shutil
from pathlib import Path
from cocite_jobs.storage.location import Location
copy = Path({str(copy)!r})
shutil.rmtree(copy, ignore_errors=True)
place = Location.of("s3://bucket/{prefix}")
place.parent.download(copy, [place.name]) if place.is_file() else place.download(copy)
"""
        done = self.desk.run([sys.executable, "-c", program])
        assert done.returncode == 0, done.stderr
        return {
            path.relative_to(copy).as_posix(): path.read_bytes()
            for path in sorted(copy.rglob("*"))
            if path.is_file()
        }


@contextmanager
def shared_nothing(folder: Path) -> Iterator[Cluster]:
    """Start the cluster as the page says; it ends with the block.

    Args:
        folder: the desk's working directory; the files of its folder ``records`` are uploaded to the bucket.
    """
    control = folder / "control"
    control.mkdir()
    names = ("store", "head", "worker-1", "worker-2", "desk")
    with machines(names, shared={"store": control, "desk": folder}) as found:
        for machine in found.values():
            machine.environment |= {
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3_server.PORT}",
                # A driver that comes would start as many idle processes as a machine has cores.
                "RAY_prestart_worker_first_driver": "0",
            }
        log = control / "log"
        found["store"].start(f"exec {sys.executable} {s3_server.__file__} {control} > {log} 2>&1")
        head, workers = found["head"], (found["worker-1"], found["worker-2"])
        _start_ray(head, workers, found["desk"])
        cluster = Cluster(head, found["desk"], workers, folder, s3_server.Held(control))
        _make_bucket(cluster)
        yield cluster


def _start_ray(head: Machine, workers: tuple[Machine, Machine], desk: Machine) -> None:
    """Type what the page says, and copy the token."""
    _type(head, typed_by("head"), _options(head, 0))
    token = head.run("cat ~/.ray/auth_token").stdout
    for machine in (*workers, desk):
        copied = machine.run(f"mkdir -p ~/.ray && printf %s '{token}' > ~/.ray/auth_token")
        assert copied.returncode == 0, copied.stderr
    with ThreadPoolExecutor() as threads:
        list(threads.map(partial(_start_worker, head), workers, (1, 2)))


def start_worker(cluster: Cluster, number: int) -> None:
    """Start Ray on a worker, by its place in the cluster, whose processes have all ended."""
    _start_worker(cluster.head, cluster.workers[number], number + 1)


def _start_worker(head: Machine, machine: Machine, number: int) -> None:
    lines = [line.replace("HEAD", head.address) for line in typed_by("worker")]
    _type(machine, lines, f"{_options(machine, number)} --num-cpus=2")


def _options(machine: Machine, number: int) -> str:
    """What ``ray start`` needs where the machines have one network."""
    return (
        f"--node-ip-address={machine.address} --object-store-memory={MEMORY} "
        f"--dashboard-agent-listen-port={AGENT_PORT + number}"
    )


def _type(machine: Machine, lines: list[str], options: str) -> None:
    """Type lines into one shell of a machine, ``ray start`` with further options."""
    script = "\n".join(f"{line} {options}" if line.startswith("ray start") else line for line in lines)
    for _ in range(STARTS):
        done = machine.run(f"set -e\n{script}")
        if "timed out during startup" not in done.stderr:
            break
        machine.run("kill -KILL -1")  # all processes of the machine, but for its first
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


def _make_bucket(cluster: Cluster) -> None:
    """Make the bucket, and upload the records."""
    program = f"""
from pathlib import Path
from pyarrow import fs
from cocite_jobs.storage.location import Location
fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")[0].create_dir("bucket")
folder = Path({str(cluster.shared)!r}, "records")
Location.of("s3://bucket/records").upload(folder, sorted(path.name for path in folder.iterdir()))
"""
    deadline = time.monotonic() + START_S
    while (done := cluster.desk.run([sys.executable, "-c", program])).returncode:
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.5)
