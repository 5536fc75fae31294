"""What golden queries find out about a release."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

import pytest

from cocite.errors import InputError
from cocite.pipeline.golden_answers import GoldenAnswer, GoldenError
from cocite.pipeline.golden_queries import GoldenQueries, GoldenQuery
from cocite_serve.replicas.canary import Tally
from cocite_serve.rollouts.errors import RolloutError
from cocite_serve.rollouts.golden_trial import GoldenTrial
from cocite_serve.settings import RolloutSettings

IDS = tuple("abcdefghij")
OTHERS = tuple("klmnopqrst")
RISING = tuple(float(i) for i in range(10))
QUERY = GoldenQuery("golden-1", "a", "Parsing")


class Release:
    """A release that answers every query alike."""

    def __init__(
        self,
        ids: tuple[str, ...] = IDS,
        scores: tuple[float, ...] = RISING[::-1],
        seconds: float = 0.1,
        error: Exception | None = None,
        kept: GoldenAnswer | None = None,
        **stages: tuple[float, ...],
    ) -> None:
        self.answer, self.error = GoldenAnswer(ids, scores, stages, seconds), error
        self._kept = kept
        self.asked = 0

    def kept(self) -> GoldenQueries | None:
        return None if self._kept is None else GoldenQueries((QUERY,), {QUERY.id: self._kept})

    def choose(self, count: int) -> list[GoldenQuery]:
        return [QUERY]

    def known(self, ids: Collection[str]) -> set[str]:
        return set(ids) & {*IDS, *OTHERS}

    def ask(self, query: GoldenQuery, seconds: float) -> GoldenAnswer:
        self.asked, self.given_s = self.asked + 1, seconds
        if self.error is not None:
            raise self.error
        return self.answer


def run(new: Release, served: Release | None = None, **settings: Any) -> str:
    return GoldenTrial(new, served, RolloutSettings(**settings)).run(threading.Event())


def test_the_same_release_passes() -> None:
    assert (
        run(Release(), Release())
        == "1 golden query: it finds 1.00 of the papers that the release served now finds"
    )
    assert run(Release()) == "1 golden query", "there is nothing to compare with"


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(GoldenError, match="golden-1: scores of the answer are not finite numbers"):
        run(Release(scores=(*RISING[:9], float("nan"))), Release())


def test_a_release_unlike_the_served_one_is_refused_where_the_setting_says_so() -> None:
    with pytest.raises(
        RolloutError, match=r"it finds 0.00 of the papers that the release served now finds, and"
    ):
        run(Release(OTHERS), Release())
    assert run(Release(OTHERS), Release(), least_overlap=0).endswith(
        "it finds 0.00 of the papers that the release served now finds"
    )


@pytest.mark.parametrize(
    ("seconds", "served_s", "refused"), [(0.6, 0.1, True), (0.6, 0.2, False), (0.4, 0.01, False)]
)
def test_a_release_that_takes_many_times_as_long_is_refused(
    seconds: float, served_s: float, refused: bool
) -> None:
    new, served = Release(seconds=seconds), Release(seconds=served_s)
    if refused:
        with pytest.raises(
            RolloutError,
            match=r"a golden query with a whole paper takes 0.60 s, and 0.10 s by the release served now",
        ):
            run(new, served)
    else:
        assert run(new, served)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (TimeoutError(), "golden-1 was not answered within 5 s .request_timeout_s gives it longer"),
        (ValueError("a defect"), "golden-1 failed: a defect"),
        (ValueError(), r"golden-1 failed: ValueError\(\)"),
    ],
)
def test_a_release_that_does_not_answer_is_refused(error: Exception, sentence: str) -> None:
    with pytest.raises(RolloutError, match=sentence):
        run(Release(error=error), Release())


def test_a_served_release_that_fails_itself_says_nothing_against_a_new_one() -> None:
    assert run(Release(OTHERS), Release(error=ValueError("a defect"))) == "1 golden query"


def test_what_the_model_keeps_must_be_found() -> None:
    expected = GoldenAnswer(IDS, RISING)
    assert "it finds 1.00 of the expected papers" in run(Release(kept=expected), Release())
    with pytest.raises(
        RolloutError,
        match=r"it finds 0.00 of the papers that its golden queries expect, and rollout.least_kept",
    ):
        run(Release(OTHERS, kept=expected), Release(OTHERS))
    gone = GoldenAnswer(tuple("0123456789"), RISING)
    assert "expected" not in run(Release(kept=gone)), "the index has none of them any more"


def test_a_stage_that_reads_texts_gives_them_the_kept_scores() -> None:
    expected = GoldenAnswer(IDS, RISING, {"cross-encoder": RISING, "first-stage": RISING})
    sound: dict[str, Any] = {"cross-encoder": RISING, "first-stage": RISING[::-1]}
    assert run(Release(kept=expected, **sound))
    broken: dict[str, Any] = {"cross-encoder": RISING[::-1], "first-stage": RISING}
    with pytest.raises(
        RolloutError, match=r"scores of cross-encoder and those that its golden .* correlation of -1.00"
    ):
        run(Release(kept=expected, **broken))


def test_without_queries_nothing_is_asked() -> None:
    new = Release(kept=GoldenAnswer(OTHERS, RISING))
    assert run(new, Release(), queries=0) == ""
    assert new.asked == 0


def test_an_index_without_text_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(self: Release, count: int) -> list[GoldenQuery]:
        raise InputError("has no text")

    monkeypatch.setattr(Release, "choose", choose)
    assert run(Release(), Release()) == ""


def test_an_interrupt_ends_the_trial() -> None:
    interrupted = threading.Event()
    interrupted.set()
    with pytest.raises(RolloutError, match="the endpoint was ended before the golden queries were answered"):
        GoldenTrial(Release(), None, RolloutSettings()).run(interrupted)


def test_in_a_canary_without_requests_both_are_asked_and_counted() -> None:
    trial = GoldenTrial(Release(), Release(), RolloutSettings())
    tallies = Tally(), Tally()
    trial.ask_both(tallies, seconds=2.0)
    assert [tally.requests for tally in tallies] == [0, 0], "no golden query was chosen yet"
    trial.run(threading.Event())
    trial.ask_both(tallies, seconds=2.0)
    trial.new.error = TimeoutError()  # type: ignore[attr-defined]
    trial.ask_both(tallies, seconds=2.0)
    assert [(tally.requests, tally.errors) for tally in tallies] == [(2, 1), (2, 0)]
    # A canary that waits longer for a stage that hangs lasts longer than it should.
    assert [release.given_s for release in (trial.new, trial.served)] == [2.0, 2.0]  # type: ignore[union-attr]
