"""The scheduler under a simulated clock: a machine whose steps take as long as their costs say, and random arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.scheduler_simulation import BUDGET, OVERHEAD, RATE, Arrival, Simulation
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite_serve.replicas.pace import Pace
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.steps import Chunk, Close, Work

COSTS = st.lists(st.integers(1, 150), min_size=0, max_size=40)
ARRIVAL = st.builds(
    Arrival,
    at=st.floats(0, 5),
    costs=COSTS,
    known=st.booleans(),
    group=st.integers(0, 1),
)
SIZED = settings(max_examples=60, deadline=None)


@SIZED
@given(st.lists(ARRIVAL, max_size=15))
def test_every_item_is_computed_once_and_in_order(arrivals: list[Arrival]) -> None:
    run = Simulation(arrivals).run()
    assert set(run.closed) == set(range(len(arrivals)))
    for i, arrival in enumerate(arrivals):
        assert run.scored.get(i, []) == list(range(len(arrival.costs)))
        _, close = run.closed[i]
        assert (close.read, close.items) == (len(arrival.costs), len(arrival.costs))


@SIZED
@given(st.lists(ARRIVAL, max_size=15))
def test_the_worker_is_idle_only_when_there_is_no_work(arrivals: list[Arrival]) -> None:
    run = Simulation(arrivals).run()
    opened = sum(not arrival.known for arrival in arrivals)
    work = sum(sum(arrival.costs) for arrival in arrivals) / RATE
    work += OVERHEAD / 2 * (opened + len(arrivals))
    assert run.now == pytest.approx(run.idle + work)


@SIZED
@given(st.lists(ARRIVAL, max_size=15))
def test_a_chunk_keeps_its_budget_and_its_group(arrivals: list[Arrival]) -> None:
    run = Simulation(arrivals).run()
    for _, chunk in run.chunks:
        assert chunk.cost <= BUDGET or sum(count for _, count in chunk.parts) == 1
        assert len({arrivals[run.number[ticket]].group for ticket, _ in chunk.parts}) == 1
        assert len({ticket for ticket, _ in chunk.parts}) == len(chunk.parts)


@SIZED
@given(st.lists(ARRIVAL, max_size=12), st.data())
def test_nothing_is_begun_for_a_client_that_has_left(arrivals: list[Arrival], data: st.DataObject) -> None:
    for arrival in arrivals:
        if data.draw(st.booleans()):
            arrival.leaves = arrival.at + data.draw(st.floats(0, 2))
    run = Simulation(arrivals).run()
    for at, chunk in run.chunks:
        for ticket, _ in chunk.parts:
            assert arrivals[run.number[ticket]].leaves > at
    stayed = {i for i, arrival in enumerate(arrivals) if arrival.leaves == 1e9}
    assert stayed <= set(run.closed)
    for i in stayed:
        assert run.scored.get(i, []) == list(range(len(arrivals[i].costs)))


def same(count: int, item: int = 25) -> list[int]:
    return [item] * count


@SIZED
@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(12, 200)), min_size=1, max_size=30),
    st.floats(0, 20),
)
def test_a_small_request_beside_large_ones_takes_twice_its_time_and_a_chunk_of_each_class(
    large: list[tuple[float, int]], at: float
) -> None:
    arrivals = [Arrival(at, same(4)), *(Arrival(begin, same(count)) for begin, count in large)]
    run = Simulation(arrivals).run()
    alone = 100 / RATE + OVERHEAD
    classes = len({run.scheduler._size_class(25 * count) for _, count in large})
    slack = (1 + classes) * BUDGET / RATE + len(large) * OVERHEAD
    assert run.closed[0][0] - at <= (1 + classes) * alone + slack


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), st.integers(10, 25))
def test_a_large_request_is_not_starved_by_more_small_ones_than_can_be_computed(
    streams: int, item: int
) -> None:
    small = [Arrival(at, same(4, item)) for at in np.arange(0, 5, 4 * item / RATE) for _ in range(streams)]
    run = Simulation([Arrival(0.5, same(80)), *small]).run()
    alone = 80 * 25 / RATE + OVERHEAD
    answered = sum(0.5 <= end <= run.closed[0][0] for end, _ in run.closed.values())
    opened = sum(arrival.at <= run.closed[0][0] for arrival in small) * OVERHEAD
    assert run.closed[0][0] - 0.5 <= 2 * alone + 2 * BUDGET / RATE + answered * OVERHEAD + opened


@SIZED
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 25)), min_size=2, max_size=10))
def test_two_classes_with_work_never_drift_apart_by_more_than_two_chunks(
    sizes: list[tuple[int, int]],
) -> None:
    arrivals = [Arrival(0.0, same(4**power, item)) for power, item in sizes]
    served: dict[int, float] = {}

    def observe(run: Simulation) -> None:
        queues = run.scheduler._classes
        numbers = [number for number, queue in queues.items() if queue]
        for number in numbers:
            served[number] = run.scheduler._virtual[number]
        if len(numbers) > 1:
            values = [served[number] for number in numbers]
            assert max(values) - min(values) <= 2 * BUDGET

    Simulation(arrivals).run(observe)
    assert served


@SIZED
@given(st.lists(ARRIVAL, min_size=1, max_size=15), st.floats(0.01, 1))
def test_equal_requests_are_answered_in_the_order_in_which_they_came(
    arrivals: list[Arrival], item: float
) -> None:
    for arrival in arrivals:
        arrival.costs, arrival.group, arrival.known = same(6), 0, True
    run = Simulation(arrivals).run()
    order = sorted(range(len(arrivals)), key=lambda i: (arrivals[i].at, i))
    assert sorted(order, key=lambda i: run.closed[i][0]) == order


@SIZED
@given(st.lists(ARRIVAL, max_size=15), st.data())
def test_a_partial_answer_is_in_time_and_the_longest_that_is(
    arrivals: list[Arrival], data: st.DataObject
) -> None:
    for arrival in arrivals:
        arrival.costs = [min(cost, BUDGET) for cost in arrival.costs]
        arrival.partial, arrival.seconds = True, data.draw(st.floats(0.01, 3))
        arrival.least = 2
    run = Simulation(arrivals).run()
    assert set(run.closed) | set(run.refused) == set(range(len(arrivals)))
    step = BUDGET / RATE + len(arrivals) * OVERHEAD
    for i, (end, close) in run.closed.items():
        arrival = arrivals[i]
        assert run.scored.get(i, []) == list(range(close.read)), "the best first"
        # A step that another request had begun is waited for.
        assert end <= arrival.at + arrival.seconds + step
        assert close.items == len(arrival.costs)
        assert close.read <= run.admitted[i]


@SIZED
@given(st.lists(ARRIVAL, max_size=15), st.data())
def test_what_can_be_no_use_any_more_is_dropped_before_it_costs(
    arrivals: list[Arrival], data: st.DataObject
) -> None:
    for arrival in arrivals:
        arrival.seconds = data.draw(st.floats(0.001, 1))
    run = Simulation(arrivals).run()
    assert set(run.closed) | set(run.refused) | set(run.late) == set(range(len(arrivals)))
    for at, chunk in run.chunks:
        for ticket, _ in chunk.parts:
            arrival = arrivals[run.number[ticket]]
            assert at < arrival.at + arrival.seconds
    for i, at in run.late.items():
        assert at >= arrivals[i].at + arrivals[i].seconds


@SIZED
@given(st.lists(ARRIVAL, min_size=2, max_size=15), st.floats(0.05, 1))
def test_who_is_admitted_waits_no_longer_than_may_be(arrivals: list[Arrival], longest: float) -> None:
    """Of one class and with known costs the estimate is exact, but for the rounding of chunks."""
    for arrival in arrivals:
        arrival.costs, arrival.known, arrival.group = same(4), True, 0
    run = Simulation(arrivals, max_wait_s=longest).run()
    alone = 100 / RATE + OVERHEAD
    for i, (end, _) in run.closed.items():
        assert end - arrivals[i].at <= longest + alone + 1e-6
    for error in run.refused.values():
        assert error.wait_s > longest
        assert error.full, "no deadline would help"
        assert error.retry_s == pytest.approx(error.wait_s - longest)


def test_a_refused_request_is_admitted_after_the_time_it_was_told() -> None:
    arrivals = [Arrival(0, same(8)) for _ in range(4)]
    run = Simulation(arrivals, max_wait_s=0.3).run()
    assert set(run.refused) == {2, 3}
    again = Arrival(run.refused[3].retry_s + 1e-6, same(8))
    assert set(Simulation([*arrivals[:3], again], max_wait_s=0.3).run().closed) == {0, 1, 3}


def test_a_request_that_others_make_late_is_refused_and_one_that_is_late_by_itself_is_not() -> None:
    large, hurried, hopeless = Arrival(0, same(40)), Arrival(0, same(40), 1.5), Arrival(0, same(40), 0.5)
    run = Simulation([large, hurried, hopeless]).run()
    assert set(run.refused) == {1}
    assert not run.refused[1].full, "with a later deadline it would be taken in"
    assert set(run.late) == {2}, "alone it takes a second"


def test_a_deadline_that_does_not_allow_all_items_allows_the_first() -> None:
    run = Simulation([Arrival(0, same(200), 1.0, partial=True, least=10)]).run()
    end, close = run.closed[0]
    assert close.items == 200
    assert 30 <= close.read < 40, "forty would be a second, and the result takes time too"
    assert 0.8 <= end <= 1.0


def test_fewer_than_the_least_are_refused_if_others_are_the_reason_and_read_if_not() -> None:
    before = [Arrival(0, same(200)) for _ in range(3)]
    hurried = Arrival(0, same(200), 0.5, partial=True, least=10)
    assert set(Simulation([*before, hurried]).run().refused) == {3}
    hurried.seconds = 0.2
    _, close = Simulation([hurried]).run().closed[0]
    assert 0 < close.read < 10


def test_a_pace_that_was_too_hopeful_still_ends_a_partial_request_in_time() -> None:
    """The machine is ten times as slow as the scheduler was told at first."""
    now = 0.0
    scheduler = Scheduler(
        lambda: now, budget=BUDGET, max_wait_s=9.0, pace=Pace(10 * RATE, 1.0, half_life_s=0.1), item_cost=25
    )
    scheduler.submit(Work(100, deadline=1.5, partial=True, costs=np.full(100, 25)))
    closed = None
    while (step := scheduler.next()) is not None:
        seconds = step.cost / RATE if isinstance(step, Chunk) else 0.0
        now += seconds
        closed = step if isinstance(step, Close) else closed
        scheduler.finished(seconds)
    assert closed is not None
    assert closed.read < 100
    assert now <= 1.5 + BUDGET / RATE


def test_an_unknown_ticket_is_no_request() -> None:
    scheduler = Scheduler(lambda: 0.0, budget=1, max_wait_s=1.0, pace=Pace(1, 1), item_cost=1)
    scheduler.cancel(7)
    assert scheduler.next() is None


def small_beside(streams: int) -> float:
    """Seconds within which 95 % of small requests are answered beside streams of ones forty times as large.

    Their sizes are those of a cross-encoder on a core of a CPU: 5 and 200 pairs of 250 tokens, a chunk of 1,024 tokens.
    """
    scale = BUDGET / 1024
    pair, large = round(250 * scale), 200 * 250 * scale / RATE
    small = [Arrival(2 + 1.37 * i, same(5, pair)) for i in range(30)]
    stream = [
        Arrival(large * (s / streams + k * streams), same(200, pair))
        for s in range(streams)
        for k in range(6)
    ]
    run = Simulation([*small, *stream]).run()
    return float(np.percentile([run.closed[i][0] - each.at for i, each in enumerate(small)], 95))


@pytest.mark.parametrize("streams", [1, 4, 8])
def test_small_requests_beside_any_number_of_large_ones_take_less_than_three_times_as_long(
    streams: int,
) -> None:
    assert small_beside(streams) <= 3 * small_beside(0)


@pytest.mark.parametrize("times", [2, 10])
def test_at_many_times_its_capacity_the_accepted_take_less_than_twice_as_long_and_no_time_is_lost(
    times: int,
) -> None:
    alone = 60 * 25 / RATE + OVERHEAD
    draw = np.random.default_rng(0)
    at = np.cumsum(draw.exponential(alone / times, 60 * times))
    run = Simulation([Arrival(float(when), same(60)) for when in at], max_wait_s=0.6 * alone).run()
    taken = [end - at[i] for i, (end, _) in run.closed.items()]
    assert len(run.closed) + len(run.refused) == len(at)
    assert np.percentile(taken, 99) <= 2 * alone
    if times == 10:
        assert len(taken) * alone >= 0.9 * run.now, "of what a machine that is never idle answers"
