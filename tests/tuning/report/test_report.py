"""The report of sweeps whose truth is known."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from cocite.errors import IntegrityError, NotFoundError
from cocite_tuning.report.command import report as command
from cocite_tuning.report.importance import importance
from cocite_tuning.report.page import SweepReport, read_trials, write_artifacts, write_report
from cocite_tuning.report.view import Column, View
from cocite_tuning.run.trials import Trial, Trials


def sweep(count: int = 60, *, noise: float = 0.01, seed: int = 0) -> Trials:
    """``rate`` matters much, ``kind`` little, ``idle`` not at all, and ``inner`` is there under ``kind = b`` alone."""
    rng = np.random.default_rng(seed)
    trials = [Trial(number=0, params={}, metrics={"MRR": 0.2}, seconds=2)]
    for number in range(1, count):
        rate, kind = float(10 ** rng.uniform(-4, -1)), str(rng.choice(["a", "b"]))
        params: dict[str, Any] = {"model.rate": rate, "kind": kind, "idle": float(rng.uniform(0, 1))}
        if kind == "b":
            params["inner"] = int(rng.integers(1, 5))
        value = 0.4 - 0.1 * (math.log10(rate) + 2.5) ** 2 + 0.02 * (kind == "b") + noise * rng.normal()
        curve = tuple((step, {"MRR": value * step / 4}) for step in range(1, 4))
        trials.append(Trial(number=number, params=params, metrics={"MRR": value}, curve=curve, seconds=3))
    trials.append(Trial(number=count, params={"model.rate": 0.1}, state="failed", error="<no memory> & more"))
    stopped = {"MRR": 0.9}
    trials.append(Trial(number=count + 1, params={"idle": 0.5}, metrics=stopped, state="stopped"))
    return Trials(sweep="rates", metric="MRR", trials=tuple(trials))


def costed() -> Trials:
    """K of two stages: more is better and slower."""
    trials = [
        Trial(
            number=i,
            params={"depth": depth, "rerank": rerank},
            metrics={
                "R@10": 0.3 + 0.05 * math.log10(depth) + 0.002 * rerank,
                "latency_ms": 5 + depth / 20 + rerank,
            },
        )
        for i, (depth, rerank) in enumerate((d, r) for d in (10, 100, 1000) for r in (0, 10, 50))
    ]
    return Trials(sweep="depths", metric="R@10", trials=tuple(trials))


# -- trials ----------------------------------------------------------------------------------------------------


def test_trials_come_back_as_they_were_written(tmp_path: Path) -> None:
    trials = sweep()
    odd = Trial(number=99, params={"x": None, "y": [1, 2]}, metrics={"MRR": math.nan, "loss": math.inf})
    trials = trials.model_copy(update={"trials": (*trials.trials, odd)})
    trials.write(tmp_path / "a" / "trials.json")
    again = Trials.read(tmp_path / "a" / "trials.json")
    assert again.model_dump_json() == trials.model_dump_json()
    assert math.isnan(again.trials[-1].metrics["MRR"])
    assert again.trials[-1].metrics["loss"] == math.inf
    assert read_trials(tmp_path / "a").metric == "MRR"
    with pytest.raises(NotFoundError, match="no such file of trials"):
        Trials.read(tmp_path / "none.json")
    with pytest.raises(NotFoundError, match=r"holds no trials\.json"):
        read_trials(tmp_path)
    (tmp_path / "bad.json").write_text('{"sweep": "s", "metric": "m", "trials": [{"number": "x"}]}')
    with pytest.raises(IntegrityError, match=r"trials\.0\.number"):
        Trials.read(tmp_path / "bad.json")


def test_the_best_is_finished_and_keeps_within_its_limits() -> None:
    trials = sweep()
    best = trials.best()
    assert best.state == "finished"
    assert trials.value(best) == max(trials.value(t) for t in trials.trials if t.state == "finished")
    assert trials.model_copy(update={"mode": "min"}).best().metrics["MRR"] < 0.2
    assert costed().best().params == {"depth": 1000, "rerank": 50}
    assert costed().best(at_most={"latency_ms": 30}).params == {"depth": 100, "rerank": 10}
    with pytest.raises(
        NotFoundError, match=r"no trial keeps latency_ms within 1 .*least that a trial needed is 5\.5"
    ):
        costed().best(at_most={"latency_ms": 1})
    with pytest.raises(NotFoundError, match="no trial finished with the metric 'MRR'"):
        Trials(sweep="s", metric="MRR").best()


def test_a_zero_among_orders_of_magnitude_has_a_place_of_its_own() -> None:
    def column(values: list[Any]) -> Column:
        return Column.of("l2", [Trial(number=i, params={"l2": value}) for i, value in enumerate(values)])

    steep = column([1e-2, 0, 1e-7, 1e-4, 1e-2, 1e-6])
    assert steep.levels == ("0", "1e-07", "1e-06", "0.0001", "0.01")
    assert steep.numbers.tolist() == [4, 0, 1, 3, 4, 2]
    assert column([0, 1, 2, 3, 4]).levels == ()
    assert column([1e-7, 1e-4, 1e-2, 1e-6]).logarithmic
    assert column([0.0, *np.logspace(-7, -2, 20).tolist()]).levels == ()


def test_among_equals_the_quicker_is_the_best() -> None:
    times = (30.0, 20.0, 20.0, 40.0)
    equals = [Trial(number=i, params={}, metrics={"m": 0.5, "latency_ms": ms}) for i, ms in enumerate(times)]
    trials = Trials(sweep="s", metric="m", trials=(*equals, Trial(number=9, params={}, metrics={"m": 0.5})))
    assert [trial.number for trial in trials.ranked] == [1, 2, 0, 3, 9]


def test_a_short_training_is_not_compared_with_a_full_one() -> None:
    short = [Trial(number=i, params={"x": i}, metrics={"m": 1.0 + i}, phase="short") for i in range(5)]
    full = [Trial(number=5, params={"x": 1}, metrics={"m": 0.5}, phase="full")]
    trials = Trials(sweep="s", metric="m", trials=(*short, *full))
    assert trials.best().number == 5
    assert [trial.number for trial in View(trials).compared] == [0, 1, 2, 3, 4]


def test_the_table_has_a_column_a_name() -> None:
    table = sweep(5).table()
    assert {len(column) for column in table.values()} == {7}
    assert table["params.model.rate"][0] is None
    assert table["metrics.MRR"][5] is None
    assert table["state"][-2:] == ["failed", "stopped"]


# -- what is compared ------------------------------------------------------------------------------------------


def test_columns_know_numbers_levels_and_scales() -> None:
    view = View(sweep())
    columns = {column.name: column for column in view.columns}
    assert view.baseline is not None
    assert view.baseline.number == 0
    assert len(view.compared) == 59
    assert columns["model.rate"].logarithmic
    assert columns["model.rate"].label == "rate"
    assert not columns["idle"].logarithmic
    assert columns["kind"].levels == ("a", "b")
    assert np.isnan(columns["inner"].numbers).any()
    names = ["a.x", "b.x", "b.y"]
    trials = [Trial(number=i, params=dict.fromkeys(names, i)) for i in range(2)]
    assert [Column.of(name, trials, names).label for name in names] == ["a.x", "b.x", "y"]


def test_the_frontier_holds_what_none_beats_in_both() -> None:
    front = View(costed()).frontier()
    times = [trial.metrics["latency_ms"] for trial in front]
    values = [trial.metrics["R@10"] for trial in front]
    assert times == sorted(times)
    assert values == sorted(values)
    for trial in costed().trials:
        beaten = [
            other
            for other in front
            if other.metrics["latency_ms"] <= trial.metrics["latency_ms"]
            and other.metrics["R@10"] >= trial.metrics["R@10"]
        ]
        assert beaten, "each trial is on the line or beaten by one that is"


def test_importance_finds_what_matters() -> None:
    found = importance(View(sweep(120)))
    assert found is not None
    assert found.trials == 119
    assert found.explained > 0.8
    assert found.trusted
    names = [name for name, _, _ in found.parameters]
    losses = {name: loss for name, loss, _ in found.parameters}
    assert names[0] == "model.rate"
    assert losses["model.rate"] > 10 * abs(losses["idle"])
    rng = np.random.default_rng(1)
    noise = [
        Trial(number=i, params={"x": float(rng.uniform())}, metrics={"m": float(rng.normal())})
        for i in range(60)
    ]
    idle = importance(View(Trials(sweep="s", metric="m", trials=tuple(noise))))
    assert idle is not None
    assert not idle.trusted, "noise is not explained"
    assert importance(View(sweep(8))) is None


# -- the page --------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_names_no_network(tmp_path: Path) -> None:
    path = write_report(sweep(), tmp_path / "deep" / "report.html")
    text = path.read_text()
    assert text.count("<svg") == 4, "importance, parallel, slices, curves"
    assert "Rests on 59 finished trials" in text
    assert "&lt;no memory&gt; &amp; more" in text
    links = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\((?!#)", text)
    assert len(text) < 400_000
    assert write_report(sweep(), tmp_path / "again.html").read_text() == text, (
        "the same trials, the same page"
    )


def test_speed_is_told_where_trials_have_a_latency(tmp_path: Path) -> None:
    made = SweepReport(costed(), max_latency_ms=30)
    assert {"speed", "depths"} <= set(made.figures)
    assert [table.columns[0] for table in made.depths] == ["depth", "rerank"]
    assert made.depths[0].rows[-1] == ["1000", "0.5500", "105"]
    assert "at most 30 ms a query" in made.html()
    assert "speed" not in SweepReport(sweep()).figures


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_sweep_that_has_hardly_begun_has_a_page(count: int) -> None:
    trials = sweep(3).trials[:count]
    text = SweepReport(Trials(sweep="s", metric="MRR", trials=trials)).html()
    assert "Not told: it needs at least 10 finished trials" in text
    assert ("No trial has finished" in text) == (count == 0)


def test_many_trials_make_a_page_of_modest_size() -> None:
    rng = np.random.default_rng(0)
    trials = tuple(
        Trial(number=i, params={f"w.{j}": float(rng.uniform()) for j in range(6)}, metrics={"m": float(rng.normal())})
        for i in range(1500)
    )  # fmt: skip
    report = SweepReport(Trials(sweep="s", metric="m", trials=trials))
    report.__dict__["importance"] = None  # minutes of forests are not what is looked at
    text = report.html()
    assert len(text) < 1_500_000
    assert "300 of 1500 finished trials: the best 100, and others evenly by rank" in text


def test_artifacts_are_files_for_mlflow(tmp_path: Path) -> None:
    files = write_artifacts(costed(), tmp_path / "report", max_latency_ms=30)
    names = {path.name for path in files}
    assert names == {"report.html", "speed.svg", "depths.svg", "parallel.svg", "slices.svg", "trials.json"}
    assert all(path.is_file() for path in files)
    more = {path.name for path in write_artifacts(sweep(), tmp_path / "other")}
    assert {"importance.json", "importance.svg", "curves.svg"} <= more
    assert json.loads((tmp_path / "other" / "importance.json").read_text())["trials"] == 59


def test_the_command_writes_the_page_and_tells_the_best(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(command)
    costed().write(tmp_path / "trials.json")
    done = CliRunner().invoke(app, [str(tmp_path), "--max-latency-ms", "30"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report.html").is_file()
    assert "trial 4, the best" in done.output
    assert "by depth" in done.output
    done = CliRunner().invoke(
        app, [str(tmp_path / "trials.json"), "--to", str(tmp_path / "x.html"), "--json"]
    )
    told = json.loads(done.stdout)
    assert told["best"]["params"] == {"depth": 1000, "rerank": 50}
    assert told["frontier"][0]["number"] == 0
    assert isinstance(
        CliRunner().invoke(app, [str(tmp_path), "--max-latency-ms", "1"]).exception, NotFoundError
    )


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.integration
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: the page is not looked at")
def test_the_page_opens_without_a_network(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    path = write_report(costed(), tmp_path / "report.html")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True, viewport={"width": 1100, "height": 900}).new_page()
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto(path.as_uri())
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert said == []
        for figure in page.locator("svg").all():
            box = figure.bounding_box()
            assert box["width"] > 500
            assert box["height"] > 100
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, (
            "a phone need not scroll sideways"
        )
        assert all(figure.bounding_box()["width"] >= 640 for figure in page.locator("svg").all())
        grounds = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert grounds == ["rgb(245, 247, 249)", "rgb(16, 18, 19)"]
        browser.close()
