"""Keeps the replicas of a private Ray Serve from listening on other addresses than the loopback one."""

from __future__ import annotations

from typing import Any

HOOK = "cocite_serve.loopback.listen_on_loopback"
"""What every process of a private Ray calls first, as Ray's ``worker_process_setup_hook``."""


def listen_on_loopback() -> None:
    """Let this process' gRPC servers listen on 127.0.0.1 where Ray says all interfaces.

    Every replica of Ray Serve (2.60) answers other replicas on ``[::]:0``, and there is no setting for it. The server
    is made by the one function that Ray has for that, before Serve's modules import it.

    Source: ``_on_initialized`` in Ray's ``serve/_private/replica.py``. tests/integration/endpoint/test_monitoring.py
    fails when a newer Ray opens the port in another way.

    Example:
        >>> from ray._common import tls_utils
        >>> before = tls_utils.add_port_to_grpc_server
        >>> listen_on_loopback()
        >>> tls_utils.add_port_to_grpc_server is before
        False
        >>> tls_utils.add_port_to_grpc_server = before
    """
    from ray._common import tls_utils

    add_port = tls_utils.add_port_to_grpc_server

    def on_loopback(server: Any, address: str) -> int:
        return add_port(server, address.replace("[::]:", "127.0.0.1:"))  # type: ignore[no-any-return]

    tls_utils.add_port_to_grpc_server = on_loopback
