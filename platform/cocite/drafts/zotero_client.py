"""Answers of the Zotero that runs on this machine: nothing but the loopback interface is asked, and no proxy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cocite.errors import InputError

if TYPE_CHECKING:
    import httpx

PREFIX = "zotero:"
"""What names a library of Zotero instead of a file."""
PORT = 23119
"""Of Zotero, unless the environment names another by ``COCITE_ZOTERO_PORT``."""
MAX_ANSWER = 64 << 20
"""Bytes of an answer, of a Zotero that answers with everything at once."""
TIMEOUT = 60
"""Seconds without a byte of an answer."""


@contextmanager
def zotero_client() -> Iterator[httpx.Client]:
    """A client for paths of Zotero's server.

    Raises:
        InputError: the environment names a port that is none.

    Example:
        >>> with zotero_client() as client:
        ...     client.base_url.host
        '127.0.0.1'
    """
    import httpx

    # Zotero refuses other names than localhost and 127.0.0.1.
    with httpx.Client(
        base_url=f"http://127.0.0.1:{_port()}/",
        headers={"Zotero-API-Version": "3", "Accept-Encoding": "identity"},
        timeout=TIMEOUT,
        trust_env=False,
    ) as client:
        yield client


def answer_of(
    client: httpx.Client,
    path: str,
    *,
    params: Mapping[str, str | int] | None = None,
    asked: object = None,
    where: str = "Zotero",
) -> tuple[int, bytes]:
    """Status and body of an answer.

    Args:
        client: of :func:`zotero_client`.
        path: without the slash before it.
        params: of the path.
        asked: is sent as JSON; None: the path is only read.
        where: who answers, for errors.

    Raises:
        InputError: nothing answers, the answer breaks off, or it is too large.
    """
    import httpx

    body = bytearray()
    sent: dict[str, Any] = {} if asked is None else {"json": asked}
    try:
        with client.stream("GET" if asked is None else "POST", path, params=params, **sent) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_ANSWER:
                    raise InputError(
                        f"an answer has more than {MAX_ANSWER >> 20} MiB",
                        where=where,
                        hint=f"name a collection, as {PREFIX}NAME",
                    )
    except httpx.ConnectError as error:
        raise InputError(
            f"nothing answers at port {client.base_url.port} of this machine",
            where=where,
            hint="start Zotero 7 or later; COCITE_ZOTERO_PORT names another port",
        ) from error
    except httpx.HTTPError as error:
        raise InputError(
            f"the answer broke off: {error or type(error).__name__}", where=where, hint="try again"
        ) from error
    return response.status_code, bytes(body)


def _port() -> int:
    raw = os.environ.get("COCITE_ZOTERO_PORT") or str(PORT)
    if not (raw.isascii() and raw.isdigit() and len(raw) < 6 and 0 < int(raw) < 1 << 16):
        raise InputError(f"must be a port, not {raw!r}", where="COCITE_ZOTERO_PORT")
    return int(raw)
