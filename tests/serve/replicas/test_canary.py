"""A share of the requests for a release on trial, and what clients see of it when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.virtual_time import in_virtual_time
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.problems import OverloadedError
from cocite_serve.replicas.canary import KEPT, Canary, Tally

QUERY = Query("q", title="Parsing")


class Release:
    """A release that answers after some seconds, or fails."""

    papers: Any = None
    registered = None
    model_version = "5f0c"

    def __init__(
        self, index_version: str, *, error: Exception | None = None, seconds: float = 0, paper_ids: str = ""
    ) -> None:
        self.index_version, self.error, self.seconds = index_version, error, seconds
        self.asked: list[tuple[Query, Options]] = []
        if paper_ids:
            self.papers = SimpleNamespace(
                corpus=SimpleNamespace(ids=lambda rows: [paper_ids[row] for row in rows]),
                rows=lambda names: [paper_ids.find(name) for name in names],
            )

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        self.asked.append((query, options))
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return Answer([], 1.0, 1.0)


def trial_of(served: Any, trial: Any, share: float, timeout_s: float) -> Canary:
    return Canary(served, trial, share, timeout_s)


def ask(
    canary: Canary, times: int, *, partial: bool = False, run: Callable[..., list[Answer]] = asyncio.run
) -> list[Answer]:
    async def all_() -> list[Answer]:
        return [
            await canary.recommend(QUERY, Options(), Deadline.after(20, partial=partial))
            for _ in range(times)
        ]

    return run(all_())


def counts(canary: Canary) -> list[tuple[int, int]]:
    return [(tally.requests, tally.errors) for tally in canary.tallies]


@given(st.integers(1, 200), st.sampled_from([0.01, 0.1, 0.25, 0.5, 1.0]))
def test_the_share_is_kept_at_every_time(times: int, share: float) -> None:
    canary = trial_of(Release("000001"), Release("000002"), share, timeout_s=5)
    answers = ask(canary, times)
    assert sum(answer.answered_by is canary.trial for answer in answers) in (
        int(times * share),
        int(times * share + 1e-6),
        max(int(times * share) - 1, 0),
    )
    assert sum(requests for requests, _ in counts(canary)) == times


def test_what_the_release_on_trial_fails_to_answer_the_served_one_answers() -> None:
    canary = trial_of(Release("000001"), Release("000002", error=ValueError("a defect")), 0.5, 5)
    answers = ask(canary, 6)
    assert [answer.answered_by for answer in answers] == [None] * 6
    assert counts(canary) == [(3, 3), (3, 0)]


def test_one_that_hangs_is_given_up_in_time() -> None:
    # A failure counts where the served release answers within the timeout, by the machine's clock.
    canary = trial_of(Release("000001"), Release("000002", seconds=60), 1.0, timeout_s=9.0)
    assert [answer.answered_by for answer in ask(canary, 2, run=in_virtual_time)] == [None, None]
    assert counts(canary) == [(2, 2), (0, 0)]


def test_a_request_that_takes_both_too_long_is_not_counted() -> None:
    canary = trial_of(Release("000001", seconds=0.1), Release("000002", seconds=60), 1.0, timeout_s=0.05)
    ask(canary, 1)
    assert counts(canary) == [(0, 0), (0, 0)]


def test_a_request_that_both_fail_to_answer_is_to_blame() -> None:
    broken = [Release(version, error=ValueError("a defect")) for version in ("000001", "000002")]
    canary = trial_of(*broken, 1.0, timeout_s=5)
    with pytest.raises(ValueError, match="a defect"):
        ask(canary, 1)
    assert counts(canary)[0] == (0, 0)


def test_a_release_that_refuses_what_the_served_one_answers_has_failed() -> None:
    canary = trial_of(Release("000001"), Release("000002", error=OverloadedError("busy")), 1.0, timeout_s=5)
    ask(canary, 3)
    assert counts(canary) == [(3, 3), (0, 0)]


def test_requests_that_both_refuse_say_nothing_against_either() -> None:
    busy = OverloadedError("busy")
    canary = trial_of(Release("000001", error=busy), Release("000002", error=busy), 1.0, timeout_s=5)
    with pytest.raises(OverloadedError, match="busy"):
        ask(canary, 1)
    assert counts(canary) == [(0, 0), (0, 0)]


def test_a_refusal_of_the_served_release_reaches_the_client_and_is_no_error() -> None:
    canary = trial_of(Release("000001", error=OverloadedError("busy")), Release("000002"), 0.01, timeout_s=5)
    with pytest.raises(OverloadedError, match="busy"):
        ask(canary, 1)
    assert counts(canary) == [(0, 0), (0, 0)]


def test_a_request_with_a_deadline_of_its_own_has_no_time_for_two() -> None:
    canary = trial_of(Release("000001"), Release("000002"), 1.0, timeout_s=5)
    assert ask(canary, 1, partial=True)[0].answered_by is None


def test_rows_are_those_of_the_other_index() -> None:
    served, trial = Release("000001", paper_ids="abcd"), Release("000002", paper_ids="dbxa")
    canary = trial_of(served, trial, 1.0, timeout_s=5)
    query = Query("q", title="Parsing", paper=1, exclude=(0, 2))

    async def one() -> None:
        await canary.recommend(query, Options(exclude=(3,)), Deadline.after(20, partial=False))

    asyncio.run(one())
    [(moved, options)] = trial.asked
    assert (moved.paper, moved.exclude, options.exclude) == (1, (3,), (0,))


def test_the_release_that_most_are_answered_by_is_told_of() -> None:
    canary = trial_of(Release("000001"), Release("000002"), 0.5, timeout_s=5)
    assert canary.index_version == "000001"


def test_tallies_of_gateways_add_up() -> None:
    one, two = Tally(), Tally()
    for seconds in (0.1, 0.2, None):
        one.add(seconds)
    two.add(0.9)
    total = Tally.sum([one, two])
    assert (total.requests, total.errors, total.median_s) == (4, 1, 0.2)
    assert total.error_share == 0.25
    assert (Tally().error_share, Tally().median_s) == (0, 0)
    for _ in range(2 * KEPT):
        one.add(0.5)
    assert len(one.seconds) == KEPT


def test_chosen_candidates_are_the_served_releases_rows_and_go_to_it_alone() -> None:
    served, trial = Release("000001", paper_ids="ab"), Release("000002", paper_ids="ba")
    canary = trial_of(served, trial, share=1.0, timeout_s=1)
    deadline = Deadline.after(20, partial=False)
    asyncio.run(canary.recommend(QUERY, Options(only=(0,)), deadline))
    assert (len(served.asked), len(trial.asked)) == (1, 0)


def test_a_page_goes_to_the_release_of_its_list() -> None:
    served, trial = Release("000001"), Release("000002")
    canary = trial_of(served, trial, share=0.1, timeout_s=1)
    assert canary.holding("5f0c", "000002") is trial
    assert canary.holding("5f0c", "000001") is served
    assert canary.holding("5f0c", "000000") is served


def test_a_request_that_names_another_release_is_refused() -> None:
    canary = trial_of(Release("000001"), Release("000002"), share=0.1, timeout_s=1)
    assert canary.chosen(None, "client") is canary.chosen("served", "") is canary
    with pytest.raises(
        InputError, match="^release: no release 'beside' is loaded; the only name is 'served'"
    ):
        canary.chosen("beside", "")


def test_requests_that_the_release_on_trial_is_never_asked_count_for_neither() -> None:
    canary = trial_of(Release("000001"), Release("000002"), share=1.0, timeout_s=5)
    ask(canary, 3, partial=True)
    asyncio.run(canary.recommend(QUERY, Options(only=(0,)), Deadline.after(20, partial=False)))
    assert counts(canary) == [(0, 0), (0, 0)]


def test_a_request_that_is_wrong_says_nothing_against_the_served_release() -> None:
    wrong = Release("000001", error=InputError("no signal is called 'bm52'"))
    canary = trial_of(wrong, Release("000002"), share=0.01, timeout_s=5)
    with pytest.raises(InputError, match="no signal"):
        ask(canary, 1)
    assert counts(canary) == [(0, 0), (0, 0)]
