"""API keys: who may ask for what, and how often. Middleware of a gateway.

Rates and quotas are counted in each gateway: with several, each lets its share pass. A rate begins anew with the
gateway; what is used of a quota it keeps (:mod:`cocite_serve.http.key_counts`).
"""

from __future__ import annotations

import hmac
import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import FastAPI
from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cocite.errors import CociteError
from cocite_serve.http.openapi import refusals
from cocite_serve.http.problem_body import problem
from cocite_serve.http.request_context import context_of
from cocite_serve.http.token_bucket import DailyQuota, TokenBucket, day_of
from cocite_serve.key_file import ApiKey, asks_for_keys, digest, keys_in_force, read_keys
from cocite_serve.settings import KeySettings

LOG = logging.getLogger("ray.serve")
OPEN = frozenset(("/", "/docs", "/openapi.json", "/v1/health", "/health"))
"""Paths that are read without a key: the page and the documentation, which hold nothing of the corpus, and what a
balancer asks."""
OPEN_FOLDERS = ("/static/", "/docs-assets/")
ADMIN = frozenset(("/v1/keys",))
"""Paths of the role ``admin``; all others are of both roles."""
BURST_S = 10.0
"""Seconds of a key's rate that may come at once."""


class KeyUse(BaseModel):
    """A key and its use in this gateway today.\f

    Example:
        >>> KeyUse(name="web", role="reader", today=12).per_day is None
        True
    """

    name: str
    role: str
    per_minute: float | None = Field(default=None, description="Requests a minute that it may send.")
    per_day: int | None = Field(default=None, description="Requests a day that it may send.")
    today: int = Field(
        description="Requests since midnight (UTC) that this gateway, and the one whose place it took, let pass."
    )


@dataclass
class _Allowance:
    """What a key may still do in this gateway."""

    key: ApiKey
    day: DailyQuota
    bucket: TokenBucket | None

    def take(self) -> tuple[float, str]:
        """Count a request. Returns the seconds to wait, 0 where it may pass, and which limit that is."""
        if self.bucket is not None and (wait := self.bucket.take()):
            return wait, "rate"
        return self.day.take(), "quota"


class KeyRing:
    """The API keys that are in force.

    Args:
        settings: where they are, and how often to look.
        gateways: that share each key's rate and quota.
        clock: seconds since 1970 (UTC).

    Raises:
        InputError: the file or the environment variable holds something else.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite_serve.key_file import new_key
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     key = new_key(Path(folder, "keys"), "web")
        ...     ring = KeyRing(KeySettings(file=Path(folder, "keys")))
        ...     found, other = ring.find(key), ring.find("cocite_another")
        >>> found.key.name, other
        ('web', None)
    """

    def __init__(
        self, settings: KeySettings, gateways: int = 1, clock: Callable[[], float] = time.time
    ) -> None:
        self._file, self._check_s = settings.file, settings.check_s
        self._gateways, self._clock = gateways, clock
        self._allowances: dict[str, _Allowance] = {}
        self._next_check = -math.inf
        self._state: object = None
        if self._file is not None:
            self._state = _state(self._file)
        self.is_on = asks_for_keys(settings)
        self._take_in(keys_in_force(settings))

    def find(self, presented: str) -> _Allowance | None:
        """What the key that was presented may do; None where it is unknown."""
        self._look()
        hashed, found = digest(presented), None
        # All are compared, each in constant time: how long it takes tells nothing.
        for allowance in self._allowances.values():
            if hmac.compare_digest(allowance.key.sha256, hashed):
                found = allowance
        return found

    def use(self) -> list[KeyUse]:
        """The keys and their use, in the order of the file."""
        return [
            KeyUse(
                today=each.day.used, **each.key.model_dump(include={"name", "role", "per_minute", "per_day"})
            )
            for each in self._allowances.values()
        ]

    def counts(self) -> tuple[int, dict[str, int]]:
        """The day, in days since 1970 (UTC), and the requests of each key in it that passed, by its name."""
        used = {name: each.day.used for name, each in self._allowances.items()}
        return day_of(self._clock()), used

    def resume(self, day: int, used: Mapping[str, int]) -> None:
        """Go on with the counts of a day, where it is today; of keys that are not in force any more, with none."""
        for name, allowance in self._allowances.items():
            allowance.day.resume(day, used.get(name, 0))

    def _look(self) -> None:
        """Take a changed file in; one that cannot be read changes nothing, and is told in the log."""
        if self._file is None or time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + self._check_s
        state = _state(self._file)
        if state == self._state:
            return
        self._state = state
        try:
            self._take_in(read_keys(self._file))
        except CociteError as error:
            LOG.error("the API keys stay as they were: %s", error)

    def _take_in(self, keys: list[ApiKey]) -> None:
        """Put keys in force; those that are the same as before keep their rates, and all known names their counts."""
        old = self._allowances
        self._allowances = {key.name: self._allowance(key, old.get(key.name)) for key in keys}

    def _allowance(self, key: ApiKey, before: _Allowance | None) -> _Allowance:
        if before is not None and before.key == key:
            return before
        most = 10**12 if key.per_day is None else math.ceil(key.per_day / self._gateways)
        bucket = None
        if key.per_minute is not None:
            rate = key.per_minute / 60 / self._gateways
            bucket = TokenBucket(rate, BURST_S * rate, time.monotonic)
        day = DailyQuota(most, self._clock)
        if before is not None:
            day.resume(day_of(self._clock()), before.day.used)
        return _Allowance(key, day, bucket)


class RequireKey:
    """Middleware that asks for an API key, as ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``.

    Args:
        app: the application behind it.
        ring: the keys.

    Example:
        >>> from starlette.responses import JSONResponse
        >>> from starlette.testclient import TestClient
        >>> app = RequireKey(JSONResponse({}), KeyRing(KeySettings()))  # without keys, anybody may
        >>> TestClient(app).get("/v1/version").status_code
        200
    """

    def __init__(self, app: ASGIApp, ring: KeyRing) -> None:
        self.app, self._ring = app, ring

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on with the name of its key noted."""
        if scope["type"] == "http" and self._ring.is_on and not is_open(scope["path"], scope["method"]):
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        presented = _presented(Headers(scope=scope))
        if presented is None:
            text = "This endpoint asks for an API key, as Authorization: Bearer KEY or as X-API-Key: KEY"
            return problem(scope, 401, text, headers={"WWW-Authenticate": 'Bearer realm="cocite"'})
        allowance = self._ring.find(presented)
        if allowance is None:
            challenge = 'Bearer realm="cocite", error="invalid_token"'
            return problem(scope, 401, "The API key is not known", headers={"WWW-Authenticate": challenge})
        key = allowance.key
        context_of(scope).key = key.name
        if scope["path"] in ADMIN and key.role != "admin":
            return problem(scope, 403, f"The role {key.role} does not allow {scope['path']}")
        wait, limit = allowance.take()
        if wait:
            after = max(1, math.ceil(wait))
            most = (
                f"{key.per_minute:g} requests a minute"
                if limit == "rate"
                else f"{key.per_day} requests a day"
            )
            text = f"This API key may send {most}; try again in {after} second{'' if after == 1 else 's'}"
            return problem(scope, 429, text, None, {"Retry-After": str(after)}, limit)
        return None


def add_key_paths(app: FastAPI, ring: KeyRing) -> None:
    """Add ``GET /v1/keys``, for the role ``admin``; without keys it is not there."""
    if ring.is_on:

        @app.get("/v1/keys", tags=["service"], summary="Which keys are used how much?", responses=refusals())
        async def keys() -> list[KeyUse]:
            return ring.use()


def _presented(headers: Headers) -> str | None:
    """The key of a request; None where there is none. A proxy's own login comes as another scheme."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key") or None


def is_open(path: str, method: str) -> bool:
    """Whether a path is asked without a key by a method: ``POST /`` embeds texts.

    Example:
        >>> is_open("/static/app.js", "GET"), is_open("/", "POST"), is_open("/v1/version", "GET")
        (True, False, False)
    """
    return method in ("GET", "HEAD") and (path in OPEN or path.startswith(OPEN_FOLDERS))


def _state(file: os.PathLike[str]) -> object:
    try:
        found = os.stat(file)
    except OSError:
        return None
    # The last tells of a file that may be read now, and of another content of the same size and time.
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns
