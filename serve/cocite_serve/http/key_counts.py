"""What each API key has used today, in a file that outlives the gateway: a restart does not give the day again.

A gateway takes the first ``keys-N.json`` that no living process has, in the folder of the logs, as its log takes
``gateway-N.jsonl``. So one that is started anew goes on with the share of the one before it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from cocite.atomic_files import write_atomic
from cocite.errors import CociteError, InputError
from cocite_serve.json_log import claim
from cocite_serve.settings import LogSettings

LOG = logging.getLogger("ray.serve")
WRITE_S = 1.0
"""Seconds between two writes; so many of counts a gateway loses at most that is killed."""


class Counted(Protocol):
    """What has counts.

    Example:
        >>> class Nothing:
        ...     def counts(self): return 20_784, {}
        ...     def resume(self, day, used): ...
        >>> counted: Counted = Nothing()
    """

    def counts(self) -> tuple[int, dict[str, int]]:
        """The day, in days since 1970 (UTC), and the requests of each key in it by its name."""

    def resume(self, day: int, used: Mapping[str, int]) -> None:
        """Go on with counts of a day."""


@asynccontextmanager
async def keeping(counted: Counted, settings: LogSettings) -> AsyncIterator[None]:
    """Go on with the counts in a file of this process, and keep them there while the block runs.

    Where no file can be written the counts begin anew, which a warning tells: to answer matters more.

    Args:
        counted: the counts.
        settings: the folder.

    Example:
        >>> import tempfile
        >>> class Web:
        ...     used = {"web": 3}
        ...     def counts(self): return 20_784, self.used
        ...     def resume(self, day, used): print(day, used)
        >>> async def run(folder):
        ...     for _ in range(2):
        ...         async with keeping(Web(), LogSettings(folder=folder)):
        ...             pass
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     asyncio.run(run(folder))
        20784 {'web': 3}
    """
    try:
        number, lock = claim(settings, "keys")
    except InputError as error:
        LOG.warning("keys: no counts are kept: %s", error)
        yield
        return
    path = settings.folder / f"keys-{number}.json"
    with lock:
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            counted.resume(int(kept["day"]), {str(name): int(used) for name, used in kept["used"].items()})
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            LOG.warning("keys: the counts in %s cannot be read; they begin anew", path)
        written = counted.counts()

        def write(now: tuple[int, dict[str, int]]) -> None:
            try:
                write_atomic(path, json.dumps({"day": now[0], "used": now[1]}))
            except (OSError, CociteError) as error:
                LOG.warning("keys: the counts are not kept: %s", error)

        async def repeat() -> None:
            nonlocal written
            while True:
                await asyncio.sleep(WRITE_S)
                if (now := counted.counts()) != written:
                    await asyncio.to_thread(write, now)
                    written = now

        task = asyncio.create_task(repeat())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            write(counted.counts())
