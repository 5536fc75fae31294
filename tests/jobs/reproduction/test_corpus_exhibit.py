from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.command_line import call

from cocite_jobs.reproduction.corpus_exhibit import corpus_exhibit
from cocite_jobs.reproduction.papers import PAPERS
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.published import published_numbers
from cocite_jobs.reproduction.reproduce import reproduce
from cocite_jobs.reproduction.trials import reproduce_trials


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statistic_of_the_paper_is_counted_under_its_name(empty_setup: Setup, paper: str) -> None:
    exhibit = corpus_exhibit(empty_setup, paper)
    ours = [row[0] for row in exhibit.make(empty_setup).rows]
    theirs = dict.fromkeys(number.row for number in published_numbers(paper) if number.table == "table1")
    assert ours == list(theirs)
    assert exhibit.needs == ()
    assert f"reproduce {paper} --size toy --only table1" in exhibit.command


OPTIONS = {
    "nogueira": {
        "encoder": "of mine/bert",
        "more_encoders": ("another's",),
        "settings": ("cross-encoder.pairs.query_tokens=30", "cross-encoder.objective.balanced=true"),
    },
    "citeomatic": {"settings": ("nnrank.model.hidden=[4, 4]",), "min_citations": 2},
}
"""Paper -> options of its reproduction."""


def printed(page: Path) -> str:
    """The command beside Table 1 of a page."""
    [exhibit] = json.loads((page / "report.json").read_text(encoding="utf-8"))["exhibits"]
    return str(exhibit["command"])


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command without its folder writes into the present one."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("paper", OPTIONS)
def test_the_command_beside_it_runs_in_its_folder_and_changes_nothing(
    capsys: pytest.CaptureFixture[str], empty_setup: Setup, paper: str
) -> None:
    options = {**OPTIONS[paper], "seed": 3, "sample": 7, "folder": empty_setup.folder.with_name("my papers")}
    setup = replace(empty_setup, **options)  # type: ignore[arg-type]
    assert reproduce(paper, setup, only=["table1"]).made == ["table1"]
    before = {path.name: path.read_bytes() for path in setup.folder.iterdir() if path.is_file()}
    program, *line = shlex.split(printed(setup.folder))
    assert program == "cocite"
    code, _, err = call(capsys, *line)
    assert code == 0, err
    assert "making" not in err
    assert {path.name: path.read_bytes() for path in setup.folder.iterdir() if path.is_file()} == before


@pytest.mark.usefixtures("elsewhere")
def test_the_command_of_trials_is_that_of_all_of_them(
    capsys: pytest.CaptureFixture[str], empty_setup: Setup
) -> None:
    page = reproduce_trials("citeomatic", replace(empty_setup, sample=7), (5, 0), only=["table1"]).page
    before = page.read_bytes()
    lines = {printed(folder) for folder in (page.parent, page.parent / "seed-5", page.parent / "seed-0")}
    [command] = lines
    code, _, err = call(capsys, *shlex.split(command)[1:])
    assert code == 0, err
    assert "making" not in err
    assert page.read_bytes() == before


def test_an_option_that_is_given_later_does_not_make_it_anew(empty_setup: Setup) -> None:
    assert reproduce("nogueira", replace(empty_setup, encoder="one"), only=["table1"]).made == ["table1"]
    later = replace(empty_setup, encoder="one", more_encoders=("two",), sample=7)
    assert reproduce("nogueira", later, only=["table1"]).made == []
