"""Golden queries to a release on trial, and to the one that is served now, in turn; and what follows from the answers.

Where the model keeps golden queries (``cocite model golden``), the expected papers must be found, and the stages that
read texts alone must give them the scores of then. In any case all scores are finite and differ, a new release finds
some of what the served one finds, and takes not much longer.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cocite.errors import InputError
from cocite.pipeline.golden_answers import GoldenAnswer, GoldenError, check_sound, correlations, overlap
from cocite.pipeline.golden_queries import GoldenQuery
from cocite_serve.notices import LOGGER
from cocite_serve.replicas.canary import Tally
from cocite_serve.rollouts.asked_stages import Asked, AskedStages
from cocite_serve.rollouts.errors import RolloutError, last_line
from cocite_serve.settings import RolloutSettings, ServeSettings

TEXT_STAGES = ("nnrank", "cross-encoder")
"""Stages whose scores hardly depend on what else is in an index."""


@dataclass
class GoldenTrial:
    """Asks two releases the same queries.

    Args:
        new: the release on trial.
        served: the one that is served now; None: there is none.
        settings: the bounds; ``timeout_s`` is that of a golden query.

    Attributes:
        queries: that were asked.

    Example:
        >>> class Fixed:  # on Ray Serve: an AskedStages
        ...     def __init__(self, *scores): self.scores = scores
        ...     def kept(self): return None
        ...     def choose(self, count): return [GoldenQuery("golden-1", "a", "Parsing")]
        ...     def known(self, ids): return set(ids)
        ...     def ask(self, query, seconds): return GoldenAnswer(("a", "b"), self.scores)
        >>> GoldenTrial(Fixed(0.9, 0.1), Fixed(0.8, 0.2), RolloutSettings()).run(threading.Event())
        '1 golden query: it finds 1.00 of the papers that the release served now finds'
        >>> GoldenTrial(Fixed(0.5, float("nan")), None, RolloutSettings()).run(threading.Event())
        Traceback (most recent call last):
        ...
        cocite.pipeline.golden_answers.GoldenError: golden-1: scores of the answer are not finite numbers
    """

    new: Asked
    served: Asked | None
    settings: RolloutSettings
    queries: Sequence[GoldenQuery] = field(default=(), init=False)

    def run(self, interrupted: threading.Event) -> str:
        """Ask, and judge.

        Args:
            interrupted: ends the trial between two queries.

        Returns:
            What was found, for the log; empty where nothing was asked.

        Raises:
            GoldenError: the answers are those of no sound model.
            RolloutError: they are those of another model than the one that keeps the queries, or of one that differs
                too much from the release that is served now; an answer did not come, or they take too long.
        """
        kept = self.new.kept() if self.settings.queries else None
        if kept and not kept.queries:
            kept = None  # nothing that could be asked: that proves nothing
        self.queries = kept.queries if kept else self._choose()
        if not self.queries:
            return ""
        answers: dict[str, GoldenAnswer] = {}
        before: dict[str, GoldenAnswer] = {}
        for query in self.queries:
            if interrupted.is_set():
                raise RolloutError("the endpoint was ended before the golden queries were answered")
            answers[query.id] = self._ask(query)
            # Asked in the same minute: the machine is as busy for both.
            answer = self._ask_served(query)
            if answer is not None:
                before[query.id] = answer
        check_sound(answers)
        found = [f"{len(self.queries)} golden quer{'y' if len(self.queries) == 1 else 'ies'}"]
        if kept:
            found += self._judge_kept(kept.answers, answers)
        if before:
            found += self._judge_beside(before, {name: answers[name] for name in before})
        return ": ".join([found[0], ", ".join(found[1:])]) if len(found) > 1 else found[0]

    def ask_both(self, tallies: tuple[Tally, Tally], seconds: float) -> None:
        """Ask both releases one more golden query, the next in turn, and count how that went.

        Args:
            tallies: of the release on trial, and of the one that is served now.
            seconds: that each may take, as a client's request in the canary: the canary waits meanwhile.
        """
        if not self.queries:
            return
        query = self.queries[tallies[0].requests % len(self.queries)]
        for asked, tally in zip((self.new, self.served), tallies, strict=True):
            if asked is not None:
                try:
                    tally.add(asked.ask(query, seconds).seconds)
                except Exception:
                    tally.add(None)

    def _choose(self) -> Sequence[GoldenQuery]:
        if not self.settings.queries:
            return ()
        try:
            return list(self.new.choose(self.settings.queries))
        except InputError:
            return ()  # the index has no text to ask with

    def _ask(self, query: GoldenQuery) -> GoldenAnswer:
        try:
            return self.new.ask(query, self.settings.timeout_s)
        except TimeoutError as error:
            raise RolloutError(
                f"{query.id} was not answered within {self.settings.timeout_s:g} s",
                hint="request_timeout_s gives it longer",
            ) from error
        except Exception as error:
            raise RolloutError(f"{query.id} failed: {last_line(error) or repr(error)}") from error

    def _ask_served(self, query: GoldenQuery) -> GoldenAnswer | None:
        """None: there is no such release, or it fails itself, which says nothing against the new one."""
        if self.served is None:
            return None
        try:
            return self.served.ask(query, self.settings.timeout_s)
        except Exception:
            return None

    def _judge_kept(
        self, expected: Mapping[str, GoldenAnswer], answers: Mapping[str, GoldenAnswer]
    ) -> list[str]:
        """Compare with the answers that the model keeps."""
        hint = (
            "is it the model that they were made of? cocite model golden MODEL --index INDEX makes them anew"
        )
        share = self._overlap(expected, answers)
        if share is not None and share < self.settings.least_kept:
            raise RolloutError(
                f"it finds {share:.2f} of the papers that its golden queries expect, and "
                f"rollout.least_kept is {self.settings.least_kept:g}",
                hint=hint,
            )
        for stage, value in correlations(expected, answers).items():
            if stage in TEXT_STAGES and value < self.settings.least_correlation:
                raise RolloutError(
                    f"the scores of {stage} and those that its golden queries expect have a correlation of "
                    f"{value:.2f}, and rollout.least_correlation is {self.settings.least_correlation:g}",
                    hint=hint,
                )
        return [] if share is None else [f"it finds {share:.2f} of the expected papers"]

    def _judge_beside(
        self, before: Mapping[str, GoldenAnswer], answers: Mapping[str, GoldenAnswer]
    ) -> list[str]:
        """Compare with the release that is served now."""
        # A cross-encoder may read for one of the kinds alone, which takes many times as long as the other.
        for kind, names in self._kinds(before).items():
            seconds, usual = _median_s(answers, names), _median_s(before, names)
            most = max(self.settings.latency_floor_s, self.settings.latency_factor * usual)
            if seconds > most:
                raise RolloutError(
                    f"a golden query with {kind} takes {seconds:.2f} s, and {usual:.2f} s by the release served now; "
                    f"rollout.latency_factor is {self.settings.latency_factor:g}"
                )
        share = self._overlap(before, answers)
        if share is None:
            return []
        if share < self.settings.least_overlap:
            raise RolloutError(
                f"it finds {share:.2f} of the papers that the release served now finds, and "
                f"rollout.least_overlap is {self.settings.least_overlap:g}"
            )
        return [f"it finds {share:.2f} of the papers that the release served now finds"]

    def _kinds(self, answered: Container[str]) -> dict[str, list[str]]:
        """Kind of golden query -> the ids of those that both releases answered."""
        kinds: dict[str, list[str]] = {}
        for query in self.queries:
            if query.id in answered:
                kinds.setdefault("a gap" if query.context else "a whole paper", []).append(query.id)
        return kinds

    def _overlap(
        self, expected: Mapping[str, GoldenAnswer], answers: Mapping[str, GoldenAnswer]
    ) -> float | None:
        ids = {id_ for answer in expected.values() for id_ in answer.best().ids}
        return overlap(expected, answers, self.new.known(ids))


def prove(
    new: Asked, served: Asked | None, settings: ServeSettings, interrupted: threading.Event
) -> GoldenTrial:
    """Ask a release golden queries, each of which may take as long as a client's request: nobody waits for it.

    Args:
        new: the release on trial.
        served: the one that is served now; None: there is none that answers.
        settings: of the endpoint.
        interrupted: ends the trial between two queries.

    Raises:
        RolloutError: as :meth:`GoldenTrial.run`; or the answers are those of no sound model.
    """
    seconds = max(settings.rollout.timeout_s, settings.request_timeout_s)
    trial = GoldenTrial(new, served, settings.rollout.model_copy(update={"timeout_s": seconds}))
    try:
        if found := trial.run(interrupted):
            LOGGER.info("the release on trial answers %s", found)
    except GoldenError as error:
        raise RolloutError(f"its answers are not those of a sound model: {error}") from error
    return trial


def prove_stages(
    app: str, served: Asked | None, settings: ServeSettings, interrupted: threading.Event
) -> GoldenTrial:
    """:func:`prove` for the stages of an application on Ray Serve.

    Args:
        app: its name.
        served, settings, interrupted: as for :func:`prove`.

    Raises:
        RolloutError: as :func:`prove`; or the stages do not answer.
    """
    try:
        new = AskedStages.open(app, settings.watch.start_s)
    except TimeoutError as error:
        raise RolloutError("the stages do not answer") from error
    return prove(new, served, settings, interrupted)


def _median_s(answers: Mapping[str, GoldenAnswer], names: Sequence[str]) -> float:
    return float(np.median([answers[name].seconds for name in names]))
