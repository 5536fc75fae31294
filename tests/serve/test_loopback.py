"""Where a process' gRPC servers listen after the hook; that the endpoint's do: tests/integration/endpoint."""

from __future__ import annotations

import subprocess
import sys

from cocite_serve.loopback import HOOK

PROBE = """
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import psutil
from pydoc import locate

if sys.argv[1]:
    locate(sys.argv[1])()
from ray._common.tls_utils import add_port_to_grpc_server

server = grpc.server(ThreadPoolExecutor(1))
port = add_port_to_grpc_server(server, "[::]:0")
server.start()
print([s.laddr.ip for s in psutil.Process().net_connections(kind="inet") if s.laddr.port == port])
server.stop(None)
"""


def listening(hook: str) -> str:
    done = subprocess.run([sys.executable, "-c", PROBE, hook], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_server_for_all_interfaces_listens_on_the_loopback_address_alone() -> None:
    assert listening("") == "['::']"
    assert listening(HOOK) in ("['127.0.0.1']", "['::ffff:127.0.0.1']")
