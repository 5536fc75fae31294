"""Options and arguments that take a path or a URI: commands work on local paths, and this module makes them such.

What a command reads elsewhere is copied to this machine first; what it writes elsewhere is uploaded when the command
has succeeded. The copying is named by string, because the library knows no other machine.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
FETCH, UPLOADED = "cocite_jobs.storage.transfer:fetch", "cocite_jobs.storage.transfer:uploaded"
"""What copies from a URI, and what uploads to one."""


@dataclass(frozen=True)
class Elsewhere:
    """A URI that an option was given.

    Attributes:
        uri: as the user wrote it.
        is_output: the command writes it.

    Example:
        >>> str(Elsewhere("s3://bucket/corpus", is_output=False))
        's3://bucket/corpus'
    """

    uri: str
    is_output: bool

    def __str__(self) -> str:
        return self.uri


_UPLOADS: ContextVar[dict[Path, str]] = ContextVar("uploads")
"""Temporary folder -> the folder that its content is uploaded to, of the command that runs."""
_COPIES: ContextVar[dict[Path, str]] = ContextVar("copies")
"""Copy of what the command that runs reads -> the URI that it was copied from."""


def input_location(text: str | Path) -> Any:
    """The parser of an option that names what a command reads."""
    return _parsed(text, is_output=False)


def output_location(text: str | Path) -> Any:
    """The parser of an option that names what a command writes."""
    return _parsed(text, is_output=True)


def _parsed(text: str | Path, *, is_output: bool) -> Path | Elsewhere:
    text = str(text)
    if text.startswith("file://"):
        return Path(text.removeprefix("file://"))
    return Elsewhere(text, is_output) if "://" in text else Path(text)


ARGUMENT: dict[str, Any] = {"parser": input_location}
"""What makes an argument of a command an input; it keeps its name in the usage."""
INPUT: dict[str, Any] = {**ARGUMENT, "metavar": "PATH|URI"}
"""Of an option or argument that names what a command reads."""
OUTPUT: dict[str, Any] = {"parser": output_location, "metavar": "PATH|URI"}
"""Of an option or argument that names what a command writes."""


def with_local_paths(command: Callable[P, R]) -> Callable[P, R]:
    """Give a command local paths for all that lies elsewhere; a decorator.

    Of an index whose shards are searched by others (``--on ray``) everything but the shards is copied.
    """

    @wraps(command)
    def run(*arguments: P.args, **values: P.kwargs) -> R:
        remote = {name: value for name, value in values.items() if isinstance(value, Elsewhere)}
        if not remote:
            return command(*arguments, **values)
        with ExitStack() as stack:
            uploads, copies = dict(_UPLOADS.get({})), dict(_COPIES.get({}))
            for name, place in remote.items():
                if place.is_output:
                    path = stack.enter_context(_named(UPLOADED)(place.uri, replace=values.get("replace")))
                    uploads[path.parent] = place.uri
                else:
                    partly = name == "index" and values.get("on") == "ray"
                    path = _named(FETCH)(place.uri, shards=() if partly else None)
                    copies[path] = place.uri
                values[name] = path
            tokens = _UPLOADS.set(uploads), _COPIES.set(copies)
            try:
                return command(*arguments, **values)
            finally:
                _UPLOADS.reset(tokens[0])
                _COPIES.reset(tokens[1])

    return run


def shown(path: Path) -> str:
    """A path as the user named it: the URI, where the path is a copy, or a temporary one whose content is uploaded.

    Example:
        >>> shown(Path("run.trec"))
        'run.trec'
    """
    if path in (copies := _COPIES.get({})):
        return copies[path]
    uri = _UPLOADS.get({}).get(path.parent)
    if uri is None:
        return str(path)
    address, mark, options = uri.partition("?")
    return f"{address.rstrip('/').rpartition('/')[0]}/{path.name}{mark}{options}"


def name_of(path: Path) -> str:
    """The last part of a path as the user named it.

    Example:
        >>> name_of(Path("data/records"))
        'records'
    """
    uri = shown(path)
    return uri.partition("?")[0].rstrip("/").rpartition("/")[2] if "://" in uri else path.name


def _named(name: str) -> Any:
    module, attribute = name.split(":")
    return getattr(importlib.import_module(module), attribute)
