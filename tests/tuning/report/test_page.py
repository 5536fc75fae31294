"""The report as a page and as files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.offline_page import grounds, offline_page
from helpers.trials import depth_trials, rate_trials

from cocite.evaluation.significance import compare
from cocite_tuning.report.contents import SweepReport
from cocite_tuning.report.page import render_html, write_artifacts, write_report
from cocite_tuning.sweep.result import SweepResult
from cocite_tuning.sweep.trials import Trial, Trials


def test_the_page_is_whole_and_names_no_network(tmp_path: Path) -> None:
    path = write_report(rate_trials(), tmp_path / "deep" / "report.html")
    text = path.read_text()
    assert text.count("<svg") == 4, "importance, parallel, slices, curves"
    assert "Rests on 59 finished trials" in text
    assert "&lt;no memory&gt; &amp; more" in text
    links = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\((?!#)", text)
    assert len(text) < 400_000
    assert write_report(rate_trials(), tmp_path / "again.html").read_text() == text, (
        "the same trials, the same page"
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_sweep_that_has_hardly_begun_has_a_page(count: int) -> None:
    trials = rate_trials(3).trials[:count]
    text = render_html(SweepReport(Trials(sweep="s", metric="MRR", trials=trials)))
    assert "Not measured: that needs at least 10 finished trials" in text
    assert ("No trial has finished" in text) == (count == 0)


def test_many_trials_make_a_page_of_modest_size() -> None:
    rng = np.random.default_rng(0)
    trials = tuple(
        Trial(number=i, params={f"w.{j}": float(rng.uniform()) for j in range(6)}, metrics={"m": float(rng.normal())})
        for i in range(1500)
    )  # fmt: skip
    report = SweepReport(Trials(sweep="s", metric="m", trials=trials))
    report.__dict__["importance"] = None  # forests of 1500 trials would take minutes
    text = render_html(report)
    assert len(text) < 1_500_000
    assert "300 of 1500 finished trials: the best 100, and others evenly by rank" in text


def test_artifacts_are_files_for_mlflow(tmp_path: Path) -> None:
    files = write_artifacts(depth_trials(), tmp_path / "report", max_latency_ms=30)
    names = {path.name for path in files}
    assert names == {"report.html", "speed.svg", "depths.svg", "parallel.svg", "slices.svg", "trials.json"}
    assert all(path.is_file() for path in files)
    more = {path.name for path in write_artifacts(rate_trials(), tmp_path / "other")}
    assert {"importance.json", "importance.svg", "curves.svg"} <= more
    assert json.loads((tmp_path / "other" / "importance.json").read_text())["trials"] == 59


def test_text_of_commands_and_errors_is_escaped() -> None:
    trial = Trial(number=3, params={"x": 3}, metrics={"MRR": 0.3})
    trials = Trials(sweep="s", metric="MRR", trials=(trial,))
    comparison = compare(np.array([0.3, 0.5, 0.2]), np.array([0.2, 0.5, 0.3]))
    result = SweepResult(**trial.model_dump(), confirmation=comparison, commands=("cocite <x> & y",))
    page = render_html(SweepReport(trials, result=result))
    assert "On 3 queries that no trial saw: MRR 0.3333 against the default&#39;s 0.3333, p = 1" in page
    assert "<pre>cocite &lt;x&gt; &amp; y</pre>" in page
    assert "<h2>To use the trial all the same</h2>" in page
    assert "<h2>To use" not in render_html(SweepReport(trials))


@pytest.mark.integration
def test_the_page_opens_without_a_network(tmp_path: Path) -> None:
    path = write_report(depth_trials(), tmp_path / "report.html")
    with offline_page(path, 1100) as page:
        for figure in page.locator("svg").all():
            box = figure.bounding_box()
            assert box["width"] > 500
            assert box["height"] > 100
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, (
            "a phone need not scroll sideways"
        )
        assert all(figure.bounding_box()["width"] >= 640 for figure in page.locator("svg").all())
        assert grounds(page) == ["rgb(245, 247, 249)", "rgb(16, 18, 19)"]
