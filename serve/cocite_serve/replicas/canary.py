"""A share of a gateway's requests for a release on trial; what it fails to answer, the served one answers.

Clients notice nothing of a release that fails: recommending only reads, so a request can be answered a second time.
Both releases are counted and timed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.comparison.shares import EvenShare
from cocite_serve.http.backend import Backend
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.problems import OverloadedError
from cocite_serve.http.release_names import find_release
from cocite_serve.replicas.moved_rows import moved_rows

KEPT = 1000
"""Seconds of answers that a tally keeps: the last."""


@dataclass
class Tally:
    """How requests went.

    Attributes:
        requests: that ended and that either release could have been asked, without those whose client left, that were
            wrong, or that were refused because too many waited.
        errors: of these.
        seconds: that the last :data:`KEPT` answers took.

    Example:
        >>> tally = Tally()
        >>> tally.add(0.2)
        >>> tally.add(None)
        >>> tally.requests, tally.errors, tally.median_s
        (2, 1, 0.2)
    """

    requests: int = 0
    errors: int = 0
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def add(self, seconds: float | None) -> None:
        """Count a request: the seconds of its answer; None: it failed."""
        self.requests += 1
        if seconds is None:
            self.errors += 1
        else:
            self.seconds.append(seconds)

    @property
    def error_share(self) -> float:
        """Errors of all requests, from 0 to 1; 0 without a request."""
        return self.errors / self.requests if self.requests else 0.0

    @property
    def median_s(self) -> float:
        """Median seconds of an answer; 0 without one."""
        return float(np.median(self.seconds)) if self.seconds else 0.0

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """The tallies of several gateways in one."""
        total = cls(seconds=deque())
        for tally in tallies:
            total.requests += tally.requests
            total.errors += tally.errors
            total.seconds.extend(tally.seconds)
        return total


@dataclass(frozen=True)
class Counted:
    """What a gateway has counted.

    Attributes:
        gateway: the name of its replica, as its log lines have it.
        tallies: of the release on trial, and of the served one; None: no release is on trial there.

    Example:
        >>> Counted("x5f0c1ab", (Tally(4, 1), Tally(40))).tallies[0].errors
        1
    """

    gateway: str
    tallies: tuple[Tally, Tally] | None


class Canary:
    """Two releases, one of them on trial; a :class:`~cocite_serve.http.backend.Backend` that tells of the served one.

    Args:
        served: answers most requests, and those that the other fails to answer.
        trial: answers a share of them.
        share: of the requests, from 0 to 1.
        timeout_s: seconds that the release on trial may take.

    Attributes:
        tallies: of the release on trial, and of the served one.

    Example:
        >>> class Release:
        ...     papers, model_version, registered = None, "5f0c", None
        ...     def __init__(self, index_version): self.index_version = index_version
        ...     async def recommend(self, query, options, deadline):
        ...         if self.index_version == "000002": raise ValueError("a defect")
        ...         return Answer([], retrieve_ms=1.0, rerank_ms=0.0)
        >>> canary = Canary(Release("000001"), Release("000002"), share=0.5, timeout_s=5.0)
        >>> async def ask():
        ...     query, deadline = Query("q", title="Parsing"), Deadline.after(20, partial=False)
        ...     return [await canary.recommend(query, Options(), deadline) for _ in range(4)]
        >>> len(asyncio.run(ask()))
        4
        >>> [(tally.requests, tally.errors) for tally in canary.tallies]
        [(2, 2), (2, 0)]
    """

    def __init__(self, served: Backend, trial: Backend, share: float, timeout_s: float) -> None:
        self.served, self.trial = served, trial
        self.tallies = (Tally(), Tally())
        self._share, self._timeout_s = EvenShare(share), timeout_s

    def __getattr__(self, name: str) -> Any:
        """Whatever else the gateway asks for is the served release's."""
        return getattr(self.served, name)

    def holding(self, model: str, index: str, /) -> Backend:
        """The release on trial where a page of its list is asked for, else the served one."""
        trial = self.trial
        return trial if (trial.model_version, trial.index_version) == (model, index) else self.served

    def chosen(self, release: str | None, _: str, /) -> Canary:
        """This canary; raises InputError where another release is named."""
        find_release(release, self.served)
        return self

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """The ranked papers of one query; ``answered_by`` of the answer is set where the release on trial gave it."""
        # Candidates that the client chose are rows of the served release's index, and a request with a deadline of its
        # own has no time for two. Neither counts: compared with requests of another kind, a release would seem slow.
        if options.only or deadline.partial:
            return await self.served.recommend(query, options, deadline)
        if not self._share.is_next():
            return await self._counted(query, options, deadline)
        on_trial, _ = self.tallies
        begin = time.perf_counter()
        # The other half of the time is for the served release, should it have to answer.
        limit = min(self._timeout_s, deadline.left() / 2)
        try:
            moved = moved_rows(query, options, self.served, self.trial)
            async with asyncio.timeout(limit):
                answer = await self.trial.recommend(*moved, Deadline.after(limit, partial=False))
        except OverloadedError:
            answer = await self.served.recommend(query, options, deadline)
            on_trial.add(None)  # with a share of the requests it has no room for what the served one answers
            return answer
        except Exception:
            again = time.perf_counter()
            answer = await self.served.recommend(query, options, deadline)
            # Where the served release fails too, or takes as long, the request is to blame.
            if time.perf_counter() - again < limit:
                on_trial.add(None)
            return answer
        on_trial.add(time.perf_counter() - begin)
        return replace(answer, answered_by=self.trial)

    async def _counted(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """The served release's answer."""
        _, served = self.tallies
        begin = time.perf_counter()
        try:
            answer = await self.served.recommend(query, options, deadline)
        except (InputError, OverloadedError):
            raise
        except Exception:
            served.add(None)
            raise
        served.add(time.perf_counter() - begin)
        return answer
