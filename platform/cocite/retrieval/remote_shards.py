"""Shards in other processes: asked all at once, each with the same deadline, and what follows when one does not answer.

The library says here what a coordinator does; how a call reaches a shard is that of a subclass, in the packages that
know Ray.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cocite.errors import CociteError
from cocite.retrieval.engines.inverted_lists import Best
from cocite.retrieval.shards.messages import (
    NearestReply,
    NearestRequest,
    ScoreReply,
    ScoreRequest,
    SearchRequest,
)

Policy = Literal["fail", "partial"]
"""What follows when a shard does not answer: ``fail``: an error that names it; ``partial``: the answer of the others,
which says which shards are missing."""
LOG = logging.getLogger("cocite")
ARRIVED_S = 0.1
"""Seconds in which a reply that has arrived is taken, though a shard before it has used the deadline up."""
PING_S = 0.01
"""Seconds for which a coordinator waits for a lost shard's answer to a ping before it asks the other shards."""


class ShardsUnavailableError(CociteError):
    """Shards did not answer, and the policy does not let a search go on without them.

    Example:
        >>> print(ShardsUnavailableError.of({2: "its process ended"}, 8))
        shard 3 of 8 did not answer: its process ended
    """

    @classmethod
    def of(cls, lost: Mapping[int, str], count: int) -> ShardsUnavailableError:
        """The error that names each lost shard, by its number from 0, and why it did not answer."""
        parts = [f"shard {number + 1} of {count} did not answer: {lost[number]}" for number in sorted(lost)]
        return cls("; ".join(parts))


class NoReplyError(Exception):
    """A shard did not answer a call; the text is the reason, as a clause.

    Example:
        >>> raise NoReplyError("its process ended")
        Traceback (most recent call last):
        ...
        cocite.retrieval.remote_shards.NoReplyError: its process ended
    """


class ShardFailedError(NoReplyError):
    """A shard answered a call by an error that says nothing of the request: a defect, or a disk that cannot be read.

    Attributes:
        error: that error.

    Example:
        >>> str(ShardFailedError(OSError("input/output error")))
        'it failed: input/output error'
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"it failed: {error}")
        self.error = error


class RemoteShards(ABC):
    """Shards in other processes; a :class:`~cocite.retrieval.shards.group.ShardGroup` for one thread.

    A shard that did not answer is sent a ping, which waits behind whatever holds the shard up. Until the ping is
    answered, the shard counts as lost without being asked, so that searches do not wait for its deadline again and
    again; then it is asked like the others. One that failed is missing from that round alone.

    Args:
        starts: row of the first paper of each shard.
        round_s: seconds within which each shard has to answer a round.
        policy: what follows when one does not.

    Attributes:
        policy: as above.

    Example:
        A subclass whose shards are in the same process after all, and of which the second is lost:

        >>> class Nearby(RemoteShards):
        ...     def _send(self, number, method, *arguments):
        ...         return number
        ...     def _receive(self, call, seconds):
        ...         if call == 1:
        ...             raise NoReplyError("its process ended")
        ...         return "a reply"
        ...     def _cancel(self, call): ...
        >>> Nearby([0, 50, 100], round_s=5, policy="partial").nearest(None)
        ['a reply', None, 'a reply']
        >>> Nearby([0, 50, 100], round_s=5, policy="fail").nearest(None)
        Traceback (most recent call last):
        ...
        cocite.retrieval.remote_shards.ShardsUnavailableError: shard 2 of 3 did not answer: its process ended
    """

    def __init__(self, starts: Sequence[int], *, round_s: float, policy: Policy) -> None:
        self.policy: Policy = policy
        self._starts, self._round_s = np.asarray(starts, np.int64), round_s
        self._pings: dict[int, Any] = {}
        self._reasons: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._starts)

    # -- how a call reaches a shard --------------------------------------------------------------------------

    @abstractmethod
    def _send(self, number: int, method: str, *arguments: Any) -> Any:
        """Begin a call of a shard; returns at once.

        Args:
            number: of the shard.
            method: of :class:`~cocite.retrieval.single_shard.SingleShard`.
            arguments: its arguments.

        Raises:
            NoReplyError: the shard cannot be called.
        """

    @abstractmethod
    def _receive(self, call: Any, seconds: float) -> Any:
        """The reply to a call.

        Raises:
            TimeoutError: there is none within some seconds.
            NoReplyError: there will be none.
            ShardFailedError: the reply is an error of the shard.
        """

    @abstractmethod
    def _cancel(self, call: Any) -> None:
        """Give a call up, so that the shard does not work on it if it has not begun."""

    # -- what a search asks ----------------------------------------------------------------------------------

    def nearest(self, request: NearestRequest) -> Sequence[NearestReply | None]:
        """The first round."""
        return self._ask_all("nearest", request)

    def score(self, request: ScoreRequest) -> Sequence[ScoreReply | None]:
        """The second round."""
        return self._ask_all("score", request)

    def search(self, request: SearchRequest) -> Sequence[Sequence[Best] | None]:
        """The best papers by one field or encoder."""
        return self._ask_all("search", request)

    def paper_vectors(self, name: str, rows: NDArray[Any]) -> NDArray[np.float32]:
        """(k, d) an encoder's vectors of papers of any shard.

        Raises:
            ShardsUnavailableError: a shard that holds some of them did not answer, whatever the policy.
        """
        rows = np.asarray(rows, np.int64)
        owner = np.searchsorted(self._starts, rows, "right") - 1
        # Of no paper the first shard still knows the dimension.
        numbers = np.unique(owner).tolist() or [0]
        replies = self._ask(
            "paper_vectors", {number: (name, rows[owner == number]) for number in numbers}, "fail"
        )
        result = np.empty((*rows.shape, replies[numbers[0]].shape[-1]), np.float32)
        for number, vectors in replies.items():
            result[owner == number] = vectors
        return result

    def wait(self, seconds: float) -> None:
        """Return when every shard answers, or when some seconds have passed."""
        deadline = time.monotonic() + seconds
        for number in range(len(self)):
            while time.monotonic() < deadline and not self._is_back(number, deadline - time.monotonic()):
                time.sleep(PING_S)

    # -- one round -------------------------------------------------------------------------------------------

    def _ask_all(self, method: str, request: Any) -> list[Any]:
        replies = self._ask(method, dict.fromkeys(range(len(self)), (request,)), self.policy)
        return [replies.get(number) for number in range(len(self))]

    def _ask(self, method: str, asked: Mapping[int, tuple[Any, ...]], policy: Policy) -> dict[int, Any]:
        """The replies of the shards that answered, by number; the calls run at the same time.

        Raises:
            ShardsUnavailableError: one did not answer, where the policy is ``fail``; none did.
            Exception: what a shard failed with, where the policy is ``fail``, or all of them failed.
        """
        lost = {number: self._reasons[number] for number in asked if not self._is_well(number)}
        if policy == "fail" and lost:
            raise ShardsUnavailableError.of(lost, len(self))
        deadline = time.monotonic() + self._round_s
        calls: dict[int, Any] = {}
        replies: dict[int, Any] = {}
        failed: dict[int, ShardFailedError] = {}
        for number, arguments in asked.items():
            if number not in lost:
                try:
                    calls[number] = self._send(number, method, *arguments)
                except NoReplyError as error:
                    lost[number] = str(error)
        for number, call in calls.items():
            try:
                replies[number] = self._receive(call, max(ARRIVED_S, deadline - time.monotonic()))
            except TimeoutError:
                self._cancel(call)
                lost[number] = f"no reply within {self._round_s:g} s"
            except ShardFailedError as error:
                failed[number] = error
            except NoReplyError as error:
                lost[number] = str(error)
        new = {number: reason for number, reason in lost.items() if number not in self._reasons}
        for number, reason in new.items():
            self._reasons[number] = reason
            self._ping(number)
        if failed and (policy == "fail" or len(failed) == len(asked)):
            raise next(iter(failed.values())).error
        if lost and (policy == "fail" or not replies):
            raise ShardsUnavailableError.of(lost, len(self))
        if new:
            LOG.warning("%s; searches go on without it", ShardsUnavailableError.of(new, len(self)))
        for number, failure in failed.items():
            LOG.warning("shard %d of %d: %s; this search goes on without it", number + 1, len(self), failure)
        return replies

    def _is_well(self, number: int) -> bool:
        """Whether a shard is to be asked: it was not lost, or has answered a ping since."""
        return number not in self._reasons or self._is_back(number, PING_S)

    def _is_back(self, number: int, seconds: float) -> bool:
        """Whether a shard answers a ping within some seconds; the ping stays with the shard if it does not."""
        try:
            self._ping(number)
            if (ping := self._pings.get(number)) is None:
                return False
            self._receive(ping, seconds)
        except TimeoutError:
            return False
        except NoReplyError:
            del self._pings[number]
            return False
        del self._pings[number]
        if self._reasons.pop(number, None) is not None and self.policy == "partial":
            LOG.warning("shard %d of %d answers again", number + 1, len(self))
        return True

    def _ping(self, number: int) -> None:
        """Send a ping to a shard, unless one is on its way."""
        if number not in self._pings:
            try:
                self._pings[number] = self._send(number, "ping")
            except NoReplyError:
                return
