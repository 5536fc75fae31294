"""The served release and one beside it in one gateway: named, shadowed, split, or interleaved requests.

Whatever the release beside does, a request that does not name it is answered by the served one, within its own time.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cocite.errors import InputError
from cocite.pipeline.options import Options, Recommendation
from cocite.protocols import Query
from cocite_serve.beside_settings import BesideSettings
from cocite_serve.comparison.ledger import Pair
from cocite_serve.comparison.shares import EvenShare, has_client
from cocite_serve.comparison.team_draft import Team, team_draft
from cocite_serve.http.backend import Backend
from cocite_serve.http.click_paths import Clicks
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.problems import OverloadedError
from cocite_serve.http.release_names import find_release
from cocite_serve.http.request_context import current
from cocite_serve.replicas.moved_rows import moved_rows
from cocite_serve.replicas.release_metrics import ReleaseMetrics

LOG = logging.getLogger("ray.serve")
BEST = 10
"""Papers of two answers that are compared."""
FAILURES = 3
"""Failures in a row after which the release beside is asked nothing for :data:`REST_S` seconds."""
REST_S = 10.0
REGISTER_S = 1.0
"""Seconds within which an interleaved answer has to be registered, or half of those that its request has left, if that
is less; then the served release's answer is sent."""

Ask = Callable[[Query, Options, Deadline], Awaitable[Answer]]


@dataclass(frozen=True)
class Chosen:
    """What answers one request: a release, and the way by which it is asked; a :class:`Backend`.

    Attributes:
        backend: whose rows and versions are meant.
        ask: asks it for recommendations.

    Example:
        >>> class Served:
        ...     index_version = "000001"
        >>> Chosen(Served(), ask=None).index_version
        '000001'
    """

    backend: Backend
    ask: Ask

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked for is the release's."""
        return getattr(self.backend, name)

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """The ranked papers of one query."""
        return await self.ask(query, options, deadline)


class TwoReleases:
    """Two releases; a :class:`~cocite_serve.http.backend.Backend` that tells of the served one.

    Args:
        served: answers most requests, and those that the other fails to answer.
        beside: the other one.
        settings: what the other one is asked.
        metrics: counts both.
        clicks: learns of interleaved answers.

    Example:
        >>> class Release:
        ...     papers, model_version, registered = None, "5f0c", None
        ...     def __init__(self, index_version): self.index_version = index_version
        ...     async def recommend(self, query, options, deadline):
        ...         return Answer([], retrieve_ms=1.0, rerank_ms=0.0)
        >>> settings = BesideSettings(index_version="000002")
        >>> both = TwoReleases(Release("000001"), Release("000002"), settings, ReleaseMetrics(), clicks=None)
        >>> deadline = Deadline.after(20, partial=False)
        >>> asyncio.run(both.chosen("beside", "").recommend(Query("q", title="Parsing"), Options(), deadline)).release
        'beside'
    """

    def __init__(
        self,
        served: Backend,
        beside: Backend,
        settings: BesideSettings,
        metrics: ReleaseMetrics,
        clicks: Clicks,
    ) -> None:
        self.served, self.beside = served, beside
        self._settings, self._metrics, self._clicks = settings, metrics, clicks
        self._share = EvenShare(settings.share)
        self._failures, self._rests_until = 0, 0.0
        self._shadows: set[asyncio.Task[None]] = set()

    def __getattr__(self, name: str) -> Any:
        """Whatever else the gateway asks for is the served release's."""
        return getattr(self.served, name)

    def holding(self, model: str, index: str, /) -> Backend:
        """The release of a page's list."""
        served = self.served.holding(model, index)
        if _versions(served) != (model, index) == _versions(self.beside):
            return self.chosen("beside", "")
        return served

    def chosen(self, release: str | None, client: str, /) -> Backend:
        """What answers a request: as it names it, or as the traffic is divided.

        Raises:
            InputError: it names a release that is not loaded, or both.
        """
        release = find_release(release, self.served, self.beside)
        ask: Ask = partial(self._measured, "served")
        if release == "beside":
            return Chosen(self.beside, self._named)
        if release is None:
            traffic = self._settings.traffic
            if traffic == "split" and has_client(
                self._settings.share, client, "/".join(_versions(self.beside))
            ):
                ask = self._split
            elif traffic == "shadow" and self._share.is_next():
                ask = self._shadowed
            elif traffic == "interleave" and self._share.is_next():
                ask = self._interleaved
        return Chosen(self.served, ask)

    async def _named(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        return replace(await self._measured("beside", query, options, deadline), release="beside")

    async def _split(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """The answer of the release beside, or else that of the served one, for which half of the time is kept."""
        if not deadline.partial:
            answer = await self._from_beside(query, options, deadline.left() / 2)
            if answer is not None:
                return replace(answer, answered_by=self.beside, release="beside")
        return await self._measured("served", query, options, deadline)

    async def _shadowed(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """The served release's answer; when it was sent, the other one is asked too."""
        answer = await self._measured("served", query, options, deadline)
        current().afterwards.append(partial(self._begin_shadow, query, options, _ids(answer)))
        return answer

    async def _interleaved(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """Papers of both by team draft; those of the served release alone, where the other does not answer in time."""
        if deadline.partial:
            return await self._measured("served", query, options, deadline)
        # Half of the time is kept: an answer that is there must not be lost by waiting for the other one.
        asked = asyncio.ensure_future(self._from_beside(query, options, deadline.left() / 2))
        try:
            answer = await self._measured("served", query, options, deadline)
            other = await asked
        finally:
            asked.cancel()
        if other is None or not (answer.recommendations and other.recommendations):
            return answer
        return await self._drafted(answer, other, options.top_k, min(REGISTER_S, deadline.left() / 2))

    async def _drafted(self, answer: Answer, other: Answer, size: int, seconds: float) -> Answer:
        token = secrets.token_urlsafe(16)
        teams = team_draft(_ids(answer), _ids(other), size, seed=secrets.randbits(64))
        pair = Pair(*_versions(self.served), *_versions(self.beside))
        try:
            async with asyncio.timeout(seconds):
                await self._clicks.register(token, pair, dict(teams))
        except Exception as error:
            LOG.warning("an answer is not interleaved, for clicks on it could not be counted: %r", error)
            return answer
        given = {"served": _counted(answer, self.served), "beside": _counted(other, self.beside)}
        both = given["beside"] | given["served"]
        papers = [given[team][id_] if team else both[id_] for id_, team in teams]
        return replace(
            answer,
            # Scores of two releases cannot be compared, and would tell them apart.
            recommendations=[replace(paper, score=1 / rank) for rank, (paper, _) in enumerate(papers, 1)],
            in_citations=tuple(count for _, count in papers),
            retrieve_ms=max(answer.retrieve_ms, other.retrieve_ms),
            rerank_ms=max(answer.rerank_ms, other.rerank_ms),
            release="interleaved",
            token=token,
        )

    def _begin_shadow(self, query: Query, options: Options, ids: list[str]) -> None:
        if len(self._shadows) >= self._settings.at_once:
            self._metrics.drop()
            return
        # A context of its own: Ray Serve ends what belongs to a request whose client leaves.
        shadow = asyncio.get_running_loop().create_task(self._shadow(query, options, ids), context=Context())
        self._shadows.add(shadow)
        shadow.add_done_callback(self._shadows.discard)

    async def _shadow(self, query: Query, options: Options, ids: list[str]) -> None:
        answer = await self._from_beside(query, options, self._settings.timeout_s)
        if answer is not None:
            self._metrics.compare(overlap(ids, _ids(answer)))

    async def _from_beside(self, query: Query, options: Options, seconds: float) -> Answer | None:
        """The other release's answer to a request to the served one; None: it failed, or is not asked for a while."""
        if time.monotonic() < self._rests_until:
            self._metrics.count("beside", "skipped")
            return None
        limit = min(self._settings.timeout_s, seconds)
        try:
            moved = moved_rows(query, options, self.served, self.beside)
            answer = await self._measured("beside", *moved, Deadline.after(limit, partial=False), limit)
        except (InputError, OverloadedError):
            return None
        except Exception:
            self._failures += 1
            if self._failures >= FAILURES:
                self._rests_until = time.monotonic() + REST_S
            return None
        self._failures = 0
        return answer

    async def _measured(
        self,
        release: Team,
        query: Query,
        options: Options,
        deadline: Deadline,
        limit: float | None = None,
    ) -> Answer:
        """The answer of a release, which is counted and timed."""
        begin = time.perf_counter()
        backend = self.served if release == "served" else self.beside
        try:
            async with asyncio.timeout(limit):
                answer = await backend.recommend(query, options, deadline)
        except (InputError, OverloadedError):
            self._metrics.count(release, "refused")
            raise
        except Exception:
            self._metrics.count(release, "failed")
            raise
        self._metrics.answered(release, time.perf_counter() - begin)
        return answer


def overlap(served: list[str], beside: list[str]) -> float:
    """The share of the best :data:`BEST` papers of one answer that are among those of another, from 0 to 1.

    Example:
        >>> overlap(["a", "b", "c", "d"], ["d", "x", "a", "y"])
        0.5
    """
    best = set(served[:BEST])
    return len(best.intersection(beside[:BEST])) / len(best) if best else float(not beside)


def _versions(release: Backend) -> tuple[str, str]:
    return release.model_version, release.index_version


def _ids(answer: Answer) -> list[str]:
    return [paper.id for paper in answer.recommendations]


def _counted(answer: Answer, release: Backend) -> dict[str, tuple[Recommendation, int]]:
    """Id -> paper, and how often it is cited in its release's index."""
    papers = answer.recommendations
    counts = release.papers.in_citations([paper.row for paper in papers])
    return {paper.id: (paper, count) for paper, count in zip(papers, counts, strict=True)}
