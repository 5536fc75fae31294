"""API keys: a file with a line of JSON for each, which holds a key's SHA-256 and never the key.

A key is 32 random bytes, so that no dictionary finds it and a plain SHA-256 keeps it; a password would need a slow
hash. Source: NIST SP 800-63B, 5.1.2.2, on secrets of 112 bits and more.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from cocite.atomic_files import replace_file
from cocite.bounds import Name
from cocite.config import Settings
from cocite.errors import InputError
from cocite.locks import locked
from cocite_serve.settings import KeySettings

PREFIX = "cocite_"
"""Begins every key, so that a scanner of repositories can find one that was published."""
VARIABLE = "COCITE_KEYS"
"""Environment variable that holds lines of such a file, where there is no file."""
MOST_BYTES = 2**22
Role = Literal["reader", "admin"]


class ApiKey(Settings):
    """A key, as the file has it.

    Example:
        >>> ApiKey(name="web", sha256=digest("cocite_x"), per_day=1000).role
        'reader'
    """

    name: Name
    """Whose it is; logs have it."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]+$", min_length=64, max_length=64)]
    """Of the key, as 64 hexadecimal digits."""
    role: Role = "reader"
    """``reader``: asks for recommendations and papers; ``admin``: sees how much the keys are used, too."""
    per_minute: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """Requests a minute, a sixth of them at once; no limit when not given."""
    per_day: Annotated[int, Field(ge=0, le=10**12)] | None = None
    """Requests between two midnights (UTC); no limit when not given."""
    created: Annotated[str, Field(max_length=64)] = ""
    """When it was made (UTC)."""


def digest(key: str) -> str:
    """The SHA-256 of a key.

    Example:
        >>> digest("cocite_x")[:8]
        '43d82dcf'
    """
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def parse_keys(text: str, where: str) -> list[ApiKey]:
    """The keys in the lines of a file.

    Args:
        text: lines of JSON; empty ones are skipped.
        where: they come from, for errors.

    Raises:
        InputError: a line is no key, or two have one name.

    Example:
        >>> [key.name for key in parse_keys('{"name": "web", "sha256": "' + "0" * 64 + '"}', "keys")]
        ['web']
    """
    keys: dict[str, ApiKey] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        at = f"{where}:{number}"
        try:
            data = json.loads(line)
        except ValueError as error:
            raise InputError("this line is not JSON", where=at) from error
        if not isinstance(data, dict):
            raise InputError("this line is no JSON object", where=at)
        key = ApiKey.parse(data, where=at)
        if key.name in keys:
            raise InputError(f"there is another key of the name {key.name!r}", where=at)
        keys[key.name] = key
    return list(keys.values())


def read_keys(path: Path) -> list[ApiKey]:
    """The keys of a file.

    Raises:
        InputError: the file cannot be read, or a line is no key.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"the API keys cannot be read: {error.strerror}", where=str(path)) from error
    if len(data) > MOST_BYTES:
        raise InputError(f"a file of API keys has at most {MOST_BYTES:,} bytes", where=str(path))
    try:
        return parse_keys(data.decode(), str(path))
    except UnicodeDecodeError as error:
        raise InputError("the file of API keys is not UTF-8", where=str(path)) from error


def keys_in_force(settings: KeySettings) -> list[ApiKey]:
    """The keys of the file that the settings name, else of the environment.

    Raises:
        InputError: there is something else.
    """
    if settings.file is not None:
        return read_keys(settings.file)
    return parse_keys(os.environ.get(VARIABLE, ""), f"${VARIABLE}")


def asks_for_keys(settings: KeySettings) -> bool:
    """Whether an endpoint asks for a key: there is a file, even an empty one, or the environment has keys.

    Example:
        >>> asks_for_keys(KeySettings(file="keys")), asks_for_keys(KeySettings())
        (True, False)
    """
    return settings.file is not None or bool(os.environ.get(VARIABLE, "").strip())


def new_key(
    path: Path, name: str, role: Role = "reader", per_minute: float | None = None, per_day: int | None = None
) -> str:
    """Make a key and add its hash to a file, which is made where it is missing and which its user alone may read.

    Returns:
        The key, which nobody can make out from the file.

    Raises:
        InputError: the file has a key of this name, or is none of keys.
        BusyError: another process writes to it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "keys")
        ...     key = new_key(path, "web", per_day=1000)
        ...     [kept] = read_keys(path)
        >>> key[:7], len(key), kept.sha256 == digest(key), kept.per_day
        ('cocite_', 50, True, 1000)
    """
    key = PREFIX + secrets.token_urlsafe(32)
    data = {"name": name, "sha256": digest(key), "role": role, "per_minute": per_minute, "per_day": per_day}
    data["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    entry = ApiKey.parse(data, where="a new key")
    with locked(path.with_name(f".{path.name}.lock"), folder=path):
        keys = read_keys(path) if path.exists() else []
        if any(other.name == name for other in keys):
            raise InputError(f"there is a key of the name {name!r}", where=str(path), hint="choose another")
        with replace_file(path) as file:
            os.fchmod(file.fileno(), 0o600)
            for each in (*keys, entry):
                file.write(each.model_dump_json(exclude_none=True).encode() + b"\n")
    return key
