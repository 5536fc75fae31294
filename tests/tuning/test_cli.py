"""``cocite tune`` from a sweep file to its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite_jobs.storage.location import Location

SWEEP = {
    "name": "toy",
    "study": {"kind": "toy"},
    "space": {"x": {"uniform": [-3, 3]}, "size": {"uniformint": [1, 9]}},
    "metric": {"name": "height"},
    "budget": {"trials": 2},
}


@pytest.fixture
def line(synthetic: SyntheticCorpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The arguments of a small sweep, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text(json.dumps(SWEEP))
    return ["toy.yaml", "--corpus", synthetic(300, seed=5, split=(3, 1)).path, "--no-track"]


def test_the_sweep_is_the_command_that_is_meant(
    line: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    """``cocite tune SWEEP`` is ``cocite tune run SWEEP``; the names of commands and -h are not sweeps."""
    short = call(capsys, "tune", *line, "--check", "--json")
    assert short == call(capsys, "tune", "run", *line, "--check", "--json")
    assert json.loads(short[1])["parameters"] == ["x", "size"]
    assert "Commands:" in call(capsys, "tune", "--help")[1]
    code, _, err = call(capsys, "tune", "nosuchsweep", "--check")
    assert (code, "nosuchsweep" in err) == (2, True)


def test_a_check_starts_nothing(
    line: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "tune", *line, "--check")
    assert code == 0, err
    assert "toy: 2 trials" in out
    assert "uniformint" in out
    assert [path.name for path in tmp_path.iterdir()] == ["toy.yaml"]


def test_trials_are_printed_while_they_end_and_the_best_at_the_end(
    line: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "tune", *line, "--to", "folder")
    assert code == 0, err
    assert all(f"trial {number}: height" in err for number in range(2))
    assert "is the best of 2 (2 finished, 0 stopped, 0 failed)" in out
    assert "report: folder/report.html" in err
    assert (tmp_path / "folder" / "report.html").is_file()


def test_a_sweep_lies_at_a_uri_and_goes_on_there(
    line: list[object], remote: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = f"{remote}/sweep"
    code, out, err = call(capsys, "tune", *line, "--to", to)
    assert code == 0, err
    assert f"report: {to}/report.html" in err
    place = Location.of(to)
    assert place.names() == [
        "best.json",
        "report.html",
        "sweep.json",
        "trials",
        "trials.json",
        "under_way.json",
    ]
    first = json.loads(place.read("trials.json") or b"")["trials"]
    code, out, err = call(capsys, "tune", *line, "--to", to)
    assert (code, f"{to}: holds a sweep (pass --resume" in err) == (2, True)
    code, out, err = call(capsys, "tune", *line, "budget.trials=4", "--to", to, "--resume", "--json")
    assert code == 0, err
    trials = json.loads(place.read("trials.json") or b"")["trials"]
    assert (len(trials), trials[:2]) == (4, first)
    assert json.loads(out)["folder"] == to
    kept = {path.split("/")[1] for path in place.files_below() if path.startswith("trials/")}
    assert len(kept) == 1  # the sweep keeps the files of the best trial alone
    assert not list(tmp_path.glob("sweep*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "--fresh"], "cocite: tune: --resume and --fresh exclude each other"),
        (["--resume"], "sweeps/toy"),
        (["budget.trails=3"], "did you mean 'trials'?"),
        (["--max-latency-ms", "-1"], "Invalid value for '--max-latency-ms'"),
    ],
)
def test_mistakes_are_reported_in_a_sentence(
    line: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = call(capsys, "tune", *line, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "sweeps" / "toy").exists()


def test_shipped_sweeps_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    sweeps = json.loads(call(capsys, "tune", "list", "--json")[1])
    out = call(capsys, "tune", "list")[1]
    assert len(sweeps) > 3
    assert [name for name in sweeps if name not in out] == []
