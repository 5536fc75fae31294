"""A gateway whose event loop is stuck, though its process answers Ray: Ray Serve replaces it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
SECONDS = 300
"""On a machine that does other things too; usually 12 from the hang on."""
SCRIPT = """
import os, sys, time
from cocite_serve.endpoint import NAMESPACE
import ray
from ray import serve
from cocite_serve.replicas.applications import gateway_application
from cocite_serve.replicas.gateway import Gateway
from cocite_serve.settings import ServeSettings

class Hanging(Gateway.__mro__[1]):
    def __init__(self):
        pass

    async def process(self):
        return os.getpid()

    async def hang(self):
        time.sleep(3600)

ray.init(address="local", namespace=NAMESPACE, num_cpus=2, include_dashboard=False, _temp_dir=sys.argv[1])
gateway = gateway_application(ServeSettings(index="index"))._bound_deployment
handle = serve.run(gateway.options(func_or_class=Hanging).bind(), name="hanging", route_prefix=None)
first = handle.process.remote().result(timeout_s=120)
handle.hang.remote()
begin = time.monotonic()
while time.monotonic() < begin + float(sys.argv[2]):
    try:
        if handle.process.remote().result(timeout_s=1) != first:
            print(f"another one answers after {time.monotonic() - begin:.1f} s")
            break
    except Exception:
        time.sleep(0.2)
else:
    sys.exit("the gateway that hangs was not replaced")
serve.shutdown()
ray.shutdown()
"""


def test_a_gateway_whose_loop_is_stuck_is_replaced(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="cocite-") as folder:  # short: Ray's sockets lie there
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, folder, str(SECONDS)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=3 * SECONDS,
        )
    assert done.returncode == 0, done.stderr[-3000:]
