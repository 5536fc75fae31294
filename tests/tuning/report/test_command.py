"""``cocite tune report`` and what it prints of a result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from helpers.command_line import call
from helpers.trials import depth_trials
from typer.testing import CliRunner

from cocite.errors import NotFoundError
from cocite.evaluation.significance import Comparison, compare
from cocite_jobs.storage.location import Location
from cocite_tuning.report.command import report, show_result
from cocite_tuning.sweep.promotion import PromotionResult
from cocite_tuning.sweep.result import SweepResult
from cocite_tuning.sweep.trials import Trial, Trials

TRIALS = Trials(
    sweep="s",
    metric="MRR",
    trials=tuple(
        Trial(number=i, params={"x": i}, metrics={"MRR": 0.1 * i, "latency_ms": float(i)})
        for i in range(1, 4)
    ),
)
BASE = np.random.default_rng(1).uniform(0, 1, 300)
NOISE = np.random.default_rng(2).normal(size=300)
BETTER, WORSE = (compare(BASE + shift + 0.1 * NOISE, BASE) for shift in (0.1, -0.1))
CHANCE = compare(BASE + 0.001 + 0.3 * (NOISE - NOISE.mean()), BASE)


def result_of(comparison: Comparison | None, **more: object) -> SweepResult:
    """A result of the best trial, with a command and a note."""
    return SweepResult(
        **TRIALS.best().model_dump(),
        confirmation=comparison,
        **({"commands": ("cocite x",), "notes": ("So.",)} | more),  # type: ignore[arg-type]
    )


def test_the_command_writes_the_page_and_prints_the_best(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(report)
    depth_trials().write(tmp_path / "trials.json")
    done = CliRunner().invoke(app, [str(tmp_path), "--max-latency-ms", "30"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report.html").is_file()
    assert "trial 4, the best" in done.output
    assert "by depth" in done.output
    done = CliRunner().invoke(
        app, [str(tmp_path / "trials.json"), "--to", str(tmp_path / "x.html"), "--json"]
    )
    answer = json.loads(done.stdout)
    assert answer["best"]["params"] == {"depth": 1000, "rerank": 50}
    assert answer["frontier"][0]["number"] == 0
    refused = CliRunner().invoke(app, [str(tmp_path), "--max-latency-ms", "1"])
    assert isinstance(refused.exception, NotFoundError)


def test_a_sweep_elsewhere_is_read_and_gets_its_page(
    tmp_path: Path, remote: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Location.of(f"{remote}/sweep")
    place.write("trials.json", TRIALS.to_json())
    place.write("best.json", result_of(BETTER).to_json())
    place.write("trials/0003/model.safetensors", b"weights")
    read: list[str] = []
    whole = Location.read
    monkeypatch.setattr(Location, "read", lambda at, name: read.append(name) or whole(at, name))
    code, out, err = call(capsys, "tune", "report", place.uri, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["best"]["params"], answer["report"]) == ({"x": 3}, f"{place.uri}/report.html")
    assert answer["use"]["commands"] == ["cocite x"]
    assert set(read) == {"trials.json", "best.json"}  # no model of a trial travels
    assert not list(tmp_path.iterdir())
    page = place.read("report.html")
    assert page is not None
    assert page.startswith(b"<!doctype html>")
    code, _, err = call(
        capsys, "tune", "report", f"{place.uri}/trials.json", "--to", f"{remote}/pages/a.html"
    )
    assert (code, f"written: {remote}/pages/a.html" in err) == (0, True)
    assert Location.of(f"{remote}/pages").read("a.html") == page
    code, _, err = call(capsys, "tune", "report", f"{remote}/none")
    assert (code, f"{remote}/none: holds no trials.json (name the folder of a sweep)" in err) == (2, True)


def test_the_result_is_given_for_its_own_trial_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TRIALS.write(tmp_path / "trials.json")
    result_of(compare(np.array([0.3, 0.5, 0.2]), np.array([0.2, 0.5, 0.3]))).write(tmp_path)
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--json")
    answer = json.loads(out)
    assert (code, answer["confirmation"]["queries"]) == (0, 3)
    assert answer["use"] == {"commands": ["cocite x"], "notes": ["So."]}
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--max-latency-ms", "2", "--json")
    assert json.loads(out)["confirmation"] is None
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--max-latency-ms", "2")
    assert "The sweep ended with trial 3 as its best" in out
    assert "cocite x" not in out


@pytest.mark.parametrize(
    ("comparison", "stays"), [(BETTER, False), (CHANCE, True), (WORSE, True), (None, None)]
)
def test_commands_are_recommended_unless_the_default_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], comparison: Comparison | None, stays: bool | None
) -> None:
    TRIALS.write(tmp_path / "trials.json")
    result_of(comparison).write(tmp_path)
    code, out, _ = call(capsys, "tune", "report", tmp_path)
    page = (tmp_path / "report.html").read_text()
    heading, other = ("To use the trial all the same", "To use it")[:: 1 if stays else -1]
    assert code == 0
    assert f"{heading}:\n  cocite x\nSo." in out
    assert f"<h2>{heading}</h2>" in page
    assert all(f"{other}:" not in text and f"<h2>{other}" not in text for text in (out, page))
    assert ("The default stays." in out) == ("The default stays." in page) == bool(stays)
    answer = json.loads(call(capsys, "tune", "report", tmp_path, "--json")[1])
    assert answer["default_stays"] is stays
    assert answer["use"]["commands"] == ["cocite x"]


@pytest.mark.parametrize("won", [True, False])
def test_commands_are_no_recommendation_where_the_champion_stays(
    capsys: pytest.CaptureFixture[str], won: bool
) -> None:
    promotion = PromotionResult("ours", "champion", won, 2, CHANCE)
    show_result(result_of(None, commands=("cocite serve",), notes=()), TRIALS, promotion)
    sentence, heading, _ = capsys.readouterr().out.splitlines()
    assert ("stays version 2" in sentence) == (not won)
    assert heading == ("To use it:" if won else "To use the trial all the same:")
