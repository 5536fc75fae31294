"""Jobs that run a script in place of a command of cocite, and tell which GPUs their command and a worker see.

``python -m helpers.seeing_job DASHBOARD SCRIPT GPUS...`` submits one that reserves so many GPUs after the other, and
prints what each said. A process of its own: Ray reads a cluster's token once.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from cocite_jobs.cluster.driver_resources import DriverResources
from cocite_jobs.cluster.job_client import JobClient
from cocite_jobs.cluster.job_request import JobRequest
from helpers.ray_head import Head

TESTS = Path(__file__).parents[1]
SCRIPT = """
import os, ray
def see():
    return os.environ.get("CUDA_VISIBLE_DEVICES", "all")
print("command", see())
ray.init(log_to_driver=False)
print("worker", ray.get(ray.remote(num_gpus=1)(see).remote()))
"""


class SeeingRequest(JobRequest):
    """A request whose command is the script."""

    @property
    def entrypoint(self) -> str:
        """That of cocite's command, with the script in its place."""
        return super().entrypoint.replace("-m cocite", "script.py")


def gpus_seen(cluster: Head, folder: Path, *gpus: float) -> list[dict[str, str]]:
    """What the command and a worker with one GPU see, of a job for each number of GPUs that the command reserves."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "helpers.seeing_job", cluster.dashboard, str(script), *map(str, gpus)]
    path = f"{TESTS}:{cluster.environment.get('PYTHONPATH', '')}"
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        env=cluster.environment | {"PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def main(dashboard: str, script: str, *gpus: str) -> None:
    """Submit the jobs, and print what they said."""
    client, seen = JobClient(dashboard), []
    request = SeeingRequest([], "rank", "q", files=[Path(script)], installed=True)
    for number in gpus:
        log: list[str] = []
        reserving = replace(request, driver=DriverResources(0.5, float(number)))
        job = client.follow(client.submit(reserving), log.append)
        assert job.status == "SUCCEEDED", "".join(log)
        seen.append(dict(re.findall(r"^(command|worker) (.*)$", "".join(log), re.MULTILINE)))
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
