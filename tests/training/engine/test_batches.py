from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.bag_task import settings
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError
from cocite.training.engine.batches import EpochPlan

epochs = st.fixed_dictionaries(
    {
        "lengths": st.lists(st.integers(0, 60), min_size=1, max_size=80),
        "batch": st.integers(1, 20),
        "tokens": st.integers(1, 150),
        "sort_within": st.integers(1, 4),
        "workers": st.integers(1, 5),
        "seed": st.integers(0, 3),
    }
)


def plan_of(given: dict) -> EpochPlan:
    numbers = {key: given[key] for key in ("batch", "tokens", "sort_within", "seed")}
    return EpochPlan(np.array(given["lengths"]), settings(**numbers), epoch=1)


@given(epochs)
def test_no_example_is_lost_or_seen_twice(given: dict) -> None:
    plan = plan_of(given)
    seen = [
        example
        for step in range(plan.steps)
        for share in plan.pieces(step, given["workers"])
        for piece in share
        if piece.counted
        for example in piece.examples.tolist()
    ]
    assert sorted(seen) == list(range(len(given["lengths"])))


@given(epochs)
def test_a_steps_examples_do_not_depend_on_the_number_of_workers(given: dict) -> None:
    plan = plan_of(given)
    for step in range(plan.steps):
        shares = plan.pieces(step, given["workers"])
        together = np.concatenate([p.examples for share in shares for p in share if p.counted])
        assert sorted(together.tolist()) == sorted(plan.examples(step).tolist())
        full = given["batch"] if step + 1 < plan.steps else len(given["lengths"]) - given["batch"] * step
        assert len(together) == full


@given(epochs)
def test_passes_fit_and_are_equally_many_on_all_workers(given: dict) -> None:
    plan = plan_of(given)
    for step in range(plan.steps):
        shares = plan.pieces(step, given["workers"])
        assert len({len(share) for share in shares}) == 1
        for share in shares:
            assert share
            for piece in share:
                assert len(piece.examples)
                cost = plan.lengths[piece.examples].sum()
                assert cost <= given["tokens"] or len(piece.examples) == 1


@given(epochs)
def test_workers_shares_differ_by_less_than_two_of_the_longest_example(given: dict) -> None:
    plan = plan_of(given)
    for step in range(plan.steps):
        costs = [
            sum(int(plan.lengths[p.examples].sum()) for p in share if p.counted)
            for share in plan.pieces(step, given["workers"])
        ]
        assert max(costs) - min(costs) <= 2 * plan.lengths[plan.examples(step)].max()


@given(epochs)
def test_the_same_seed_and_epoch_give_the_same_plan_and_others_another(given: dict) -> None:
    one, two = plan_of(given), plan_of(given)
    for step in range(one.steps):
        assert one.examples(step).tolist() == two.examples(step).tolist()


@given(epochs)
def test_the_order_is_that_of_one_sort_in_memory(given: dict) -> None:
    """The draws that trainings were measured with: a permutation, sorted by pool and length, and steps shuffled."""
    plan, batch = plan_of(given), given["batch"]
    lengths = np.maximum(given["lengths"], 1)
    rng = np.random.default_rng([given["seed"], 1])
    order = rng.permutation(len(lengths))
    full = len(lengths) // batch
    body = order[: full * batch]
    pool = np.arange(full * batch) // (batch * given["sort_within"])
    body = body[np.lexsort((lengths[body], pool))].reshape(full, batch)[rng.permutation(full)]
    wanted = [*body, *([order[full * batch :]] if len(lengths) % batch else [])]
    assert plan.steps == len(wanted)
    for step, chosen in enumerate(wanted):
        found = plan.examples(step)
        assert found.tolist() == chosen[np.argsort(-lengths[chosen], kind="stable")].tolist()


def test_mapped_lengths_and_the_order_take_no_memory(tmp_path: Path) -> None:
    count = 2_000_000
    np.save(tmp_path / "lengths.npy", np.arange(count, dtype=np.int64) % 300 + 1)
    lengths = np.load(tmp_path / "lengths.npy", mmap_mode="r")
    EpochPlan(lengths[:1000], settings(batch=32), 0)  # imports and small blocks of memory
    before = anonymous_bytes()
    plan = EpochPlan(lengths, settings(batch=32, sort_within=100), 0)
    assert anonymous_bytes() - before < 0.25 * 8 * count
    assert plan.lengths is lengths
    assert sorted(plan.examples(7).tolist(), key=lambda i: -lengths[i]) == plan.examples(7).tolist()


def anonymous_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


def test_an_ordered_epoch_is_taken_as_it_stands() -> None:
    plan = EpochPlan(np.array([1, 1, 2, 2, 3]), settings(batch=2), 0, ordered=True)
    assert [plan.examples(step).tolist() for step in range(plan.steps)] == [[0, 1], [2, 3], [4]]


def test_another_epoch_or_seed_is_shuffled_anew() -> None:
    lengths = np.arange(1, 65)
    orders = [
        np.concatenate([plan.examples(step) for step in range(plan.steps)]).tolist()
        for plan in (
            EpochPlan(lengths, settings(seed=0), 0),
            EpochPlan(lengths, settings(seed=0), 1),
            EpochPlan(lengths, settings(seed=1), 0),
        )
    ]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_sorting_by_length_leaves_little_padding() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.lognormal(5, 0.6, 4000).astype(np.int64).clip(8, 512)
    plan = EpochPlan(lengths, settings(batch=64, tokens=4096, sort_within=64), 0)
    padded = tokens = 0
    for step in range(plan.steps):
        for share in plan.pieces(step, 2):
            for piece in share:
                own = lengths[piece.examples]
                padded += int(own.max()) * len(own)
                tokens += int(own.sum())
    assert padded / tokens < 1.06


def test_an_epoch_without_examples_is_refused() -> None:
    with pytest.raises(InputError, match=r"epoch 3 has no examples .*split"):
        EpochPlan(np.array([], dtype=np.int64), settings(), 3)
