"""What the operator of an endpoint is told: a line on standard error, or wherever the caller wants it, and in the log.

The lines of the log are JSON as those of the gateways, in ``endpoint-N.jsonl`` beside them: which release is served or
refused, and why, as fields of their own; and what the endpoint's own process logs besides.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from cocite_serve.json_log import JsonLog, open_or_warn
from cocite_serve.replicas.kept_lines import ToFile
from cocite_serve.settings import LogSettings

LOGGER = logging.getLogger("cocite.serve")
"""What the process of the endpoint logs, rollouts included."""
Notify = Callable[[str], None]
"""Takes one line for the operator of the endpoint."""


class Notice(str):
    """A line for the operator, and what it says as fields of the log.

    Args:
        text: the line.
        fields: such as ``outcome``, ``release`` and ``why``.

    Example:
        >>> notice = Notice("Serving no model over index 000002 now.", outcome="served", release="index 000002")
        >>> print(notice, notice.fields)
        Serving no model over index 000002 now. {'outcome': 'served', 'release': 'index 000002'}
    """

    fields: dict[str, str]

    def __new__(cls, text: str, **fields: str) -> Notice:
        """The line itself is the text."""
        notice = super().__new__(cls, text)
        notice.fields = fields
        return notice


class Notices:
    """Tells the operator, and keeps what was told in the log.

    Args:
        notify: takes each line.
        logs: where the log is; its file is made for the first line. None: none is kept.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     notices = Notices(print, LogSettings(folder=folder))
        ...     notices(Notice("Index 000003 is not served: it is damaged.", outcome="refused", release="000003"))
        ...     notices.close()
        ...     [line] = (Path(folder) / "endpoint-0.jsonl").read_text().splitlines()
        Index 000003 is not served: it is damaged.
        >>> '"outcome": "refused", "release": "000003"' in line
        True
    """

    def __init__(self, notify: Notify, logs: LogSettings | None = None) -> None:
        self._notify, self._logs = notify, logs
        self._log: JsonLog | None = None
        self._lock = threading.Lock()
        self._handler = ToFile(self._write)
        # `notify` may log the notice, which has its line already.
        self._handler.addFilter(lambda record: not isinstance(record.msg, Notice))

    def __call__(self, text: str) -> None:
        """Tell a line."""
        notice = text if isinstance(text, Notice) else Notice(text)
        self._notify(notice)
        level = "INFO" if notice.fields.get("outcome") in ("served", "beside") else "WARNING"
        self._write({"level": level, **notice.fields, "message": str(notice)})

    def listen(self) -> None:
        """Keep also what this process logs, until :meth:`close`."""
        LOGGER.addHandler(self._handler)

    def close(self) -> None:
        """Keep no more; a second call does nothing."""
        LOGGER.removeHandler(self._handler)
        with self._lock:
            log, self._log, self._logs = self._log, None, None
        if log is not None:
            log.close()

    def _write(self, fields: dict[str, Any]) -> None:
        with self._lock:
            if self._logs is not None:
                self._log, self._logs = open_or_warn(self._logs, "endpoint"), None
            if self._log is not None:
                self._log.write(fields)
