"""A gateway whose event loop is stuck, though its process answers Ray: Ray Serve replaces it, and others go on."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
SECONDS = 300
"""On a machine that does other things too; usually 12 from the hang on."""
HANGING = """
import os, sys, time
from cocite_serve.endpoint import NAMESPACE
import ray
from ray import serve
from cocite_serve.replicas.applications import gateway_application
from cocite_serve.replicas.canary import Counted, Tally
from cocite_serve.replicas.gateway import Gateway
from cocite_serve.replicas.names import GATEWAYS
from cocite_serve.replicas.reporting import replica_name
from cocite_serve.rollouts.gateway_tallies import REPLY_S, GatewayTallies
from cocite_serve.settings import ServeSettings

class Hanging(Gateway.__mro__[1]):
    def __init__(self):
        pass

    async def process(self):
        return os.getpid()

    async def tallies(self):
        return Counted(replica_name(), (Tally(3, 1), Tally(30)))

    async def hang(self):
        time.sleep(3600)

def run():
    settings = ServeSettings(index="index", gateway={"replicas": 2})
    gateway = gateway_application(settings)._bound_deployment
    return serve.run(gateway.options(func_or_class=Hanging).bind(), name=GATEWAYS, route_prefix=None)

ray.init(address="local", namespace=NAMESPACE, num_cpus=2, include_dashboard=False, _temp_dir=sys.argv[1])
handle, first, lines = run(), set(), []
while len(first) < 2:
    first.add(handle.process.remote().result(timeout_s=120))
tallies = GatewayTallies(lines.append)
while len(tallies.newest()) < 2:
    time.sleep(0.2)
lines.clear()
handle.hang.remote()
time.sleep(0.5)
begin = time.monotonic()
counted = GatewayTallies(print).newest()
took = time.monotonic() - begin
assert [trial.errors for trial, served in counted] == [1], counted
assert took < REPLY_S + 2, took
assert len(tallies.newest()) == 2, "what the other one said before counts"
[line] = lines
assert line.startswith("1 of 2 gateways did not say") and "new ones" not in line, line
while time.monotonic() < begin + float(sys.argv[2]):
    try:
        if handle.process.remote().result(timeout_s=1) not in first:
            print(f"another one answers after {time.monotonic() - begin:.1f} s")
            break
    except Exception:
        time.sleep(0.2)
else:
    sys.exit("the gateway that hangs was not replaced")
serve.shutdown()
ray.shutdown()
"""


def test_a_gateway_whose_loop_is_stuck_is_replaced_and_the_others_counts_come(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="cocite-") as folder:  # short: Ray's sockets lie there
        done = subprocess.run(
            [sys.executable, "-c", HANGING, folder, str(SECONDS)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=3 * SECONDS,
        )
    assert done.returncode == 0, done.stderr[-3000:]
