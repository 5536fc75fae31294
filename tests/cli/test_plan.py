"""``cocite plan``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.command_line import call

from cocite.cli.plan import _parse_ram
from cocite.retrieval.sizing.figures import measured_indexes


def planned(capsys: pytest.CaptureFixture[str], *options: object) -> dict[str, Any]:
    code, out, err = call(capsys, "plan", *options, "--json")
    assert code == 0, err
    return json.loads(out)  # type: ignore[no-any-return]


def test_what_was_measured_stands_beside_what_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    for one in measured_indexes():
        found = planned(capsys, "--papers", one.papers, "--shards", one.shards)
        assert found["links"] == pytest.approx(one.links, rel=0.05)
        assert found["measured"]
        for name, value in found["measured"].items():
            assert found["computed"][name] == pytest.approx(value, rel=0.2), name


def test_other_sizes_are_computed_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, "--papers", "250e6", "--ram", "256GiB")["measured"] == {}
    one = measured_indexes()[0]
    assert planned(capsys, "--papers", one.papers, "--replicas", 2)["measured"] == {}
    assert planned(capsys, "--papers", one.papers, "--links", 5)["measured"] == {}


def test_vectors_and_replicas_take_disk(capsys: pytest.CaptureFixture[str]) -> None:
    disk = [
        planned(capsys, "--papers", "1e6", *more)["computed"]["all replicas, disk GiB"]
        for more in ((), ("--replicas", 2), ("--encoders", "sentence:384"))
    ]
    assert disk[1] == pytest.approx(2 * disk[0])
    assert disk[2] - disk[0] == pytest.approx(1e6 * (4 * 384 + 384 + 8) / 2**30)


def test_the_table_says_from_what_it_is_computed_and_how_far_beyond(
    capsys: pytest.CaptureFixture[str],
) -> None:
    largest = measured_indexes()[-1]
    code, out, _ = call(capsys, "plan", "--papers", 50 * largest.papers, "--ram", "1TB")
    assert code == 0
    assert "50 times those of the largest index that was measured" in out
    assert "computed" in out
    assert "measured" in out
    for one in measured_indexes():
        assert f"`{one.command}`, {one.date}" in out


def test_a_coordinator_too_large_for_the_machines_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "plan", "--papers", "1e9", "--ram", "16GiB")
    assert code == 0
    assert "cocite: warning: the coordinator should have" in err
    assert "larger than --ram 16GiB" in err


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64GiB", 64 * 2**30),
        ("64gib", 64 * 2**30),
        ("2TB", 2 * 10**12),
        ("1.5G", 1.5e9),
        ("2147483648", 2**31),
    ],
)
def test_sizes(text: str, size: float) -> None:
    assert _parse_ram(text) == size
