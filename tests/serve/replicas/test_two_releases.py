"""A second release beside the served one: who is asked, what clients get, and what failures change."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.virtual_time import in_virtual_time

from cocite.errors import InputError
from cocite.pipeline.options import Options, Recommendation
from cocite.protocols import Query
from cocite_serve.beside_settings import BesideSettings
from cocite_serve.comparison.ledger import Ledger, Pair
from cocite_serve.comparison.team_draft import Team
from cocite_serve.http.backend import Backend
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.problems import OverloadedError
from cocite_serve.http.request_context import _CURRENT, RequestContext
from cocite_serve.replicas import two_releases
from cocite_serve.replicas.release_metrics import ReleaseMetrics
from cocite_serve.replicas.two_releases import TwoReleases

QUERY = Query("q", title="Parsing")


class Papers:
    """Papers whose ids are letters; each is cited as often as its row says."""

    def __init__(self, ids: str) -> None:
        self.ids = ids
        self.corpus = SimpleNamespace(ids=lambda rows: [ids[row] for row in rows])

    def rows(self, names: Any) -> list[int]:
        return [self.ids.find(name) for name in names]

    def in_citations(self, rows: list[int]) -> list[int]:
        return [100 + row for row in rows]


class Release:
    """A release that answers with its papers in their order, or fails."""

    registered, refused = None, ()

    def __init__(self, version: str, ids: str) -> None:
        self.model_version, self.index_version = "5f0c", version
        self.papers: Any = Papers(ids)
        self.error: Exception | None = None
        self.seconds = 0.0
        self.asked: list[Options] = []

    def holding(self, *_: str) -> Release:
        return self

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        self.asked.append(options)
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        found = [
            Recommendation(row, id_, id_, (), 2000, "", "", "", -float(row), {}, None)  # type: ignore[arg-type]
            for row, id_ in enumerate(self.papers.ids[: options.top_k])
        ]
        return Answer(found, 1.0, 2.0)


class Clicks:
    """A ledger as a gateway calls it."""

    def __init__(self) -> None:
        self.ledger, self.error = Ledger(), None
        self.seconds = 0.0

    async def register(self, token: str, pair: Pair, teams: Mapping[str, Team | None]) -> None:
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        self.ledger.register(token, pair, teams)


class Metrics(ReleaseMetrics):
    """What was counted."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: list[tuple[str, str]] = []
        self.overlaps: list[float] = []
        self.drops = 0

    def count(self, release: Team, outcome: str) -> None:
        self.counts.append((release, outcome))

    def compare(self, overlap: float) -> None:
        self.overlaps.append(overlap)

    def drop(self) -> None:
        self.drops += 1


class Gateway:
    """Two releases, and clients that ask them."""

    def __init__(self, traffic: str = "none", share: float = 1.0, **settings: Any) -> None:
        self.served, self.beside = Release("000001", "abcdefgh"), Release("000002", "hgfxbaye")
        self.metrics, self.clicks = Metrics(), Clicks()
        parsed = BesideSettings.model_validate(
            {"index_version": "000002", "traffic": traffic, "share": share, **settings}
        )
        served: Any = self.served
        beside: Any = self.beside
        counter: Any = self.clicks
        self.both = TwoReleases(served, beside, parsed, self.metrics, counter)

    def ask(self, release: str | None = None, client: str = "", **more: Any) -> Answer:
        return asyncio.run(self.one(release, client, **more))

    async def one(
        self, release: str | None = None, client: str = "", partial: bool = False, options: Any = None
    ) -> Answer:
        chosen = self.both.chosen(release, client)
        deadline = Deadline.after(20, partial=partial)
        return await chosen.recommend(QUERY, options or Options(top_k=6), deadline)


def ids(answer: Answer) -> str:
    return "".join(paper.id for paper in answer.recommendations)


def test_a_request_that_names_a_release_is_answered_by_it() -> None:
    gateway = Gateway("interleave")
    assert (ids(gateway.ask("served")), gateway.ask("served").release) == ("abcdef", "served")
    answer = gateway.ask("beside")
    assert (ids(answer), answer.release) == ("hgfxba", "beside")
    assert ids(gateway.ask("000002")) == "hgfxba", "the version of its index is a name, too"
    chosen: Backend = gateway.both.chosen("beside", "")
    assert (chosen.index_version, gateway.both.index_version) == ("000002", "000001")
    gateway.beside.error = ValueError("a defect")
    with pytest.raises(ValueError, match="a defect"):
        gateway.ask("beside")
    assert gateway.metrics.counts[-1] == ("beside", "failed")


@pytest.mark.parametrize("traffic", ["none", "split", "interleave"])
def test_a_release_that_is_not_there_is_refused_with_the_names_that_are(traffic: str) -> None:
    gateway = Gateway(traffic)
    refusal = "^release: no release 'other' is loaded; the names are 'served' and 'beside'$"
    with pytest.raises(InputError, match=refusal):
        gateway.both.chosen("other", "")
    assert gateway.served.asked == gateway.beside.asked == []


def test_without_traffic_the_other_release_is_asked_nothing() -> None:
    gateway = Gateway()
    assert [gateway.ask().release for _ in range(5)] == ["served"] * 5
    assert gateway.beside.asked == []
    assert gateway.metrics.counts == [("served", "answered")] * 5


def test_a_client_keeps_its_release_where_traffic_is_split() -> None:
    gateway = Gateway("split", share=0.5)
    names = [f"client {number}" for number in range(40)]
    first = {name: gateway.ask(client=name) for name in names}
    assert {answer.release for answer in first.values()} == {"served", "beside"}
    assert {name: gateway.ask(client=name).release for name in names} == {
        name: answer.release for name, answer in first.items()
    }
    stamps = {answer.release: answer.answered_by for answer in first.values()}
    assert stamps == {"served": None, "beside": gateway.beside}


def test_rows_are_those_of_the_index_that_is_asked() -> None:
    gateway = Gateway("split")
    gateway.ask(options=Options(top_k=2, exclude=(0, 2)))  # a and c
    assert gateway.beside.asked[0].exclude == (5,), "it has no c"


@pytest.mark.parametrize("traffic", ["split", "interleave", "shadow"])
@pytest.mark.parametrize(
    "error", [ValueError("a defect"), InputError("no such signal"), OverloadedError("busy"), TimeoutError()]
)
def test_what_the_other_release_fails_to_answer_the_served_one_answers(
    traffic: str, error: Exception
) -> None:
    gateway = Gateway(traffic)
    gateway.beside.error = error
    answer = gateway.ask()
    assert (ids(answer), answer.release, answer.token) == ("abcdef", "served", "")


def test_one_that_hangs_is_given_up_and_not_asked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_releases, "REST_S", 3600.0)
    gateway = Gateway("split", timeout_s=0.01)
    gateway.beside.seconds = 60

    async def all_() -> None:
        for _ in range(5):
            assert (await gateway.one()).release == "served"
        assert len(gateway.beside.asked) == 3
        assert gateway.metrics.counts.count(("beside", "skipped")) == 2
        gateway.both._rests_until = 0.0  # an hour later
        gateway.both._settings = gateway.both._settings.model_copy(update={"timeout_s": 60.0})
        gateway.beside.seconds = 0
        assert (await gateway.one()).release == "beside"

    asyncio.run(all_())


def test_a_request_with_a_deadline_of_its_own_has_no_time_for_two() -> None:
    for traffic in ("split", "interleave"):
        gateway = Gateway(traffic)
        assert gateway.ask(partial=True).release == "served"
        assert gateway.beside.asked == []


def test_a_shadowed_request_is_asked_after_its_answer_and_compared() -> None:
    gateway = Gateway("shadow")

    async def ask() -> None:
        context = RequestContext("5f0c")
        token = _CURRENT.set(context)
        answer = await gateway.one()
        assert (answer.release, gateway.beside.asked) == ("served", [])
        _CURRENT.reset(token)
        [begin] = context.afterwards
        begin()
        await asyncio.gather(*gateway.both._shadows)

    asyncio.run(ask())
    assert len(gateway.beside.asked) == 1
    assert gateway.metrics.overlaps == [pytest.approx(3 / 6)], "abcdef and hgfxba share a, b and f"


def test_shadowed_requests_are_bounded() -> None:
    gateway = Gateway("shadow", at_once=2)

    async def ask() -> None:
        context = RequestContext("5f0c")
        token = _CURRENT.set(context)
        for _ in range(5):
            await gateway.one()
        _CURRENT.reset(token)
        for begin in context.afterwards:
            begin()
        assert gateway.metrics.drops == 3
        await asyncio.gather(*gateway.both._shadows)
        await asyncio.sleep(0)
        assert not gateway.both._shadows

    asyncio.run(ask())
    assert len(gateway.metrics.overlaps) == 2


def test_an_interleaved_answer_has_papers_of_both_and_clicks_count() -> None:
    gateway = Gateway("interleave")
    answer = gateway.ask()
    assert (answer.release, len(answer.recommendations), len(set(ids(answer)))) == ("interleaved", 6, 6)
    assert {*ids(answer)} == {*"abchgf"}, "three of each"
    assert [paper.score for paper in answer.recommendations] == [1 / rank for rank in range(1, 7)]
    teams = gateway.clicks.ledger._answers[answer.token].teams
    assert sorted(map(str, teams.values())) == ["beside"] * 3 + ["served"] * 3
    assert answer.in_citations is not None
    for paper, count in zip(answer.recommendations, answer.in_citations, strict=True):
        of = gateway.beside if teams[paper.id] == "beside" else gateway.served
        assert count == 100 + of.papers.ids.index(paper.id), "in the index of the release that gave it"
    gateway.clicks.ledger.credit(answer.token, "h")
    [comparison] = gateway.clicks.ledger.comparisons()
    assert comparison.pair == Pair("5f0c", "000001", "5f0c", "000002")
    assert comparison.wins == {"served": 0, "beside": 1}


def test_an_answer_whose_clicks_cannot_be_counted_is_the_served_ones() -> None:
    gateway = Gateway("interleave")
    gateway.clicks.error = RuntimeError("the counter is away")
    answer = gateway.ask()
    assert (ids(answer), answer.release, answer.token) == ("abcdef", "served", "")


def test_a_failure_of_the_served_release_reaches_the_client_and_ends_the_other_call() -> None:
    gateway = Gateway("interleave")
    gateway.served.error = OverloadedError("busy")
    gateway.beside.seconds = 60
    with pytest.raises(OverloadedError, match="busy"):
        gateway.ask()


@pytest.mark.parametrize("late", ["the other release", "the counter"])
def test_what_holds_an_interleaved_answer_up_leaves_the_served_one_in_time(late: str) -> None:
    gateway = Gateway("interleave", timeout_s=60)
    if late == "the counter":
        gateway.clicks.seconds = 60
    else:
        gateway.beside.seconds = 60

    async def ask() -> Answer:
        async with asyncio.timeout(20.0):
            deadline = Deadline.after(20.0, partial=False)
            return await gateway.both.chosen(None, "").recommend(QUERY, Options(top_k=6), deadline)

    answer = in_virtual_time(ask())
    assert (ids(answer), answer.release) == ("abcdef", "served")


def test_a_page_goes_to_the_release_of_its_list() -> None:
    gateway = Gateway()
    assert gateway.both.holding("5f0c", "000002").index_version == "000002"
    assert gateway.both.holding("5f0c", "000001") is gateway.served
    assert gateway.both.holding("5f0c", "000000") is gateway.served
    gateway.beside.index_version = "000001"
    assert gateway.both.holding("5f0c", "000001") is gateway.served


def test_half_of_the_requests_are_shared_where_the_share_says_so() -> None:
    gateway = Gateway("interleave", share=0.5)
    assert [gateway.ask().release for _ in range(4)] == ["served", "interleaved"] * 2
