"""Serves what a fake of a web API answers, on the loopback interface."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""


@contextmanager
def answering(
    answer: Callable[[str], Answer], post: Callable[[str, Mapping[str, str], bytes], Answer] | None = None
) -> Iterator[int]:
    """Serve on a free port, which is given.

    Args:
        answer: path and query of a GET -> what is answered.
        post: path, headers and body of a POST -> what is answered; None: no POST is.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send(answer(self.path))

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            self.send(post(self.path, dict(self.headers), sent) if post else (501, {}, b""))

        def send(self, answered: Answer) -> None:
            status, headers, body = answered
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
