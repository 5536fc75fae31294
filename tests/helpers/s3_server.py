"""moto's S3 server, which can hold a request until a test has done something to the process that sent it.

It is a program of its own, because it runs on a machine of :mod:`helpers.machines`. What it holds is said by files in a
folder that it shares with the test: see :class:`Held`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PORT = 9000
WAIT_S = 600
POLL_S = 0.05


class Held:
    """Holds the first request whose method and path contain a text.

    Args:
        folder: that the server and the test share: the file ``hold`` has the text, and the server renames it to
            ``held`` when such a request has come.
    """

    def __init__(self, folder: Path) -> None:
        self.wanted, self.found = folder / "hold", folder / "held"

    @contextmanager
    def request(self, text: str) -> Iterator[Callable[[], None]]:
        """Hold a request such as ``PUT /bucket/index/CURRENT``, until the block ends; gives what waits for it."""
        self.wanted.write_text(text)
        try:
            yield self._wait
        finally:
            self.wanted.unlink(missing_ok=True)
            self.found.unlink(missing_ok=True)

    def _wait(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while not self.found.exists():
            assert time.monotonic() < deadline, f"no request in {WAIT_S} s like {self.wanted.read_text()!r}"
            time.sleep(POLL_S)

    def look(self, line: str) -> None:
        """Hold this request, where it is the one that is wanted, or one like it that came later."""
        for file in (self.wanted, self.found):
            try:
                text = file.read_text()
            except FileNotFoundError:
                continue
            if all(part in line for part in text.split()):
                if file == self.wanted:
                    self.wanted.rename(self.found)
                while self.found.exists():
                    time.sleep(POLL_S)


def serve(folder: Path) -> None:
    """Answer requests until the process is ended."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    app, held = DomainDispatcherApplication(create_backend_app), Held(folder)

    def holding(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        held.look(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{environ['QUERY_STRING']}")
        answer: Iterable[bytes] = app(environ, start)
        return answer

    run_simple("127.0.0.1", PORT, holding, threaded=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
