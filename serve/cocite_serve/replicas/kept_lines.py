"""A replica's own log lines in the folder of the endpoint's logs, where they outlive Ray's folder.

Ray Serve writes what a replica logs into a file of Ray's session, which a Ray that the endpoint started deletes when it
ends. Here cocite's lines, and Ray Serve's warnings, go to a bounded :class:`~cocite_serve.json_log.JsonLog` beside that
of the gateways. Ray Serve's other lines are one or two for each request, which has its line in the gateways' log.
"""

from __future__ import annotations

import logging
import os

import cocite
import cocite_serve
from cocite_serve.failures import describe
from cocite_serve.json_log import LogLine, open_log
from cocite_serve.settings import LogSettings

VARIABLE = "COCITE_REPLICA_LOGS"
"""Environment variable of a replica with the settings of its log, as JSON."""
OWN = tuple(f"{folder}{os.sep}" for package in (cocite, cocite_serve) for folder in package.__path__)
"""Folders of the code whose lines are cocite's."""
FIELDS = ("deployment", "replica", "request_id")
"""What Ray Serve knows of a line and puts into its record."""


class ToFile(logging.Handler):
    """Writes the lines of a logger by a function.

    Args:
        write: takes the fields of a line.

    Example:
        >>> lines = []
        >>> record = logging.LogRecord("ray.serve", logging.WARNING, "", 0, "shard %d is gone", (2,), None)
        >>> ToFile(lines.append).handle(record)
        True
        >>> lines
        [{'level': 'WARNING', 'message': 'shard 2 is gone'}]
    """

    def __init__(self, write: LogLine) -> None:
        super().__init__(logging.INFO)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless it is Ray Serve's and no warning."""
        known = vars(record)
        if record.levelno < logging.WARNING and not record.pathname.startswith(OWN):
            return
        fields = {"level": record.levelname, **{name: known[name] for name in FIELDS if known.get(name)}}
        # The words of an error may be those of a manuscript.
        error = record.exc_info[1] if record.exc_info else None
        self._write(fields | {"message": record.getMessage()} | ({"error": describe(error)} if error else {}))


def environment(settings: LogSettings) -> dict[str, str]:
    """What the environment of a replica has to hold so that :func:`keep_lines` keeps its lines.

    Example:
        >>> environment(LogSettings(folder="/var/log/cocite", files=3))
        {'COCITE_REPLICA_LOGS': '{"folder":"/var/log/cocite","file_bytes":10485760,"files":3}'}
    """
    return {VARIABLE: settings.model_dump_json()}


def keep_lines(logger: logging.Logger, name: str) -> None:
    """Keep what this replica logs from now on, where its environment says so; once is enough.

    Args:
        logger: whose lines.
        name: of the files: ``NAME-0.jsonl`` and so on.
    """
    settings = os.environ.get(VARIABLE)
    if settings is None or any(isinstance(handler, ToFile) for handler in logger.handlers):
        return
    write = open_log(LogSettings.model_validate_json(settings), name)
    if write is not None:
        logger.addHandler(ToFile(write))
