"""What the documentation names exists: files it links to, commands and options it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from helpers.sources import ROOT, name_of

from cocite.cli import root
from cocite.errors import ConfigError
from cocite_jobs.training.recipes import load_recipe
from cocite_tuning.sweep.sweep import SWEEPS, shipped_sweeps

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
RECIPES = sorted((ROOT / "jobs" / "cocite_jobs" / "recipes").rglob("*.yaml"))
SWEEP_FILES = sorted(SWEEPS.glob("*.yaml"))


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as Markdown viewers make them."""
    titles = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


PAPER_RECIPES = {
    "Citeomatic": [
        f"{name}-paper{table}" for name in ("nnselect", "nnrank") for table in ("", "-opencorpus")
    ],
    "BM25 + SciBERT": ["scibert-global"],
    "HAtten + SciBERT": ["hatten-paper", "scibert-local"],
    "MP-BERT4CR": ["mp-bert4cr", "mp-bert4cr-pretraining"],
}
"""Heading of ``docs/papers.md`` -> the recipes that its settings are of."""
EQUATIONS = {
    "Citeomatic": [1, 2, 3],
    "BM25 + SciBERT": [1],
    "HAtten + SciBERT": [1, 2, 3],
    "MP-BERT4CR": [1, 2, 3, 4, 5, 6],
}

CHOICES = {
    "BM25 + SciBERT": [
        "section 3, 4.2, 4.3: BM25",
        "section 4.1: models of Open Research",
        "section 4.3: the top 1,000",
        "section 5.2: negatives at random",
    ],
    "MP-BERT4CR": [
        "section 5.1: DBLP-1",
        "section 5.1, Table 1: train and test",
        "section 5.2: passes over DBLP",
        "Table 2: warm-up on DBLP",
    ],
}
"""Heading of ``docs/papers.md`` -> what a paper chose of data, first stage and length, by which cocite may differ."""


def paper_rows() -> list[tuple[str, list[str]]]:
    """The rows of the tables of ``docs/papers.md``: the paper, and the four cells."""
    rows, paper = [], ""
    for line in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = next(name for name in PAPER_RECIPES if line.startswith(f"## {name}"))
        if line.startswith("| ") and "`" in line:
            rows.append((paper, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]))
    return rows


@pytest.mark.parametrize(("paper", "cells"), paper_rows(), ids=lambda value: value[0][:40])
def test_a_row_of_the_papers_names_files_tests_and_settings_that_exist(paper: str, cells: list[str]) -> None:
    source, file, how, setting = cells
    assert (ROOT / file.strip("`")).is_file(), source
    named = re.findall(r"`(tests/[^`]+)`", how)
    for test in named:
        path, _, name = test.partition("::")
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), test
    assert named or not how.startswith("equal") or "same test" in how, f"{source}: equal by no test"
    settings = re.findall(r"`([a-z_]+(?:\.[a-z_]+)+=[^`]+)`", setting)
    accepted, refusals = False, []
    for recipe in PAPER_RECIPES[paper]:
        try:
            load_recipe(recipe, settings)
            accepted = True
        except ConfigError as error:
            refusals.append(str(error))
    assert accepted, refusals


def test_every_equation_of_the_four_papers_has_a_row() -> None:
    for paper, numbers in EQUATIONS.items():
        text = " ".join(cells[0] for of, cells in paper_rows() if of == paper)
        named = {int(n) for group in re.findall(r"Eq\. ([\d and]+)", text) for n in re.findall(r"\d", group)}
        assert named == set(numbers), paper


def test_every_choice_of_data_and_first_stage_has_a_row() -> None:
    for paper, choices in CHOICES.items():
        names = [cells[0] for of, cells in paper_rows() if of == paper]
        missing = [choice for choice in choices if not any(name.startswith(choice) for name in names)]
        assert not missing, paper


def commands(text: str) -> list[str]:
    """The ``cocite ...`` lines of a page's code blocks, with continued lines joined."""
    blocks = re.findall(r"^```[a-z ]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    found = [re.search(r"(?:^|bin/|=)cocite (.*)", line.strip()) for line in lines]
    return [match.group(1) for match in found if match]


def faults(line: str) -> list[str]:
    """What a command line names that does not exist."""
    words = shlex.split(line, comments=True)
    command: Any = root
    while hasattr(command, "commands") or command is root:
        word = next(iter(words), "")
        if word.startswith("-") or not word:
            break
        inner = command.get_command(click.Context(root), word)
        if inner is None and word in shipped_sweeps():  # `cocite tune SWEEP` is `cocite tune run SWEEP`
            inner = command.get_command(click.Context(root), "run")
        if inner is None:
            return [f"no command {word!r}"]
        command, words = inner, words[1:]
    known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    known |= {"--help", "-h", "--version"}
    return [
        f"no option {word!r}" for word in words if word.startswith("-") and word.split("=")[0] not in known
    ]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_shown_exists_with_its_options(page: Path) -> None:
    shown = commands(page.read_text(encoding="utf-8"))
    assert {line: found for line in shown if (found := faults(line))} == {}


@pytest.mark.parametrize("recipe", [*RECIPES, *SWEEP_FILES], ids=name_of)
def test_every_command_in_a_recipe_or_sweep_exists_with_its_options(recipe: Path) -> None:
    shown = re.findall(r"^#\s+cocite (.*)$", recipe.read_text(encoding="utf-8"), re.MULTILINE)
    assert {line: found for line in shown if (found := faults(line))} == {}


def test_the_scan_finds_what_it_should() -> None:
    assert commands("```\ncocite corpus stats \\\n  DIR\n```\ncocite nothing here\n") == [
        "corpus stats    DIR"
    ]
    assert faults("corpus stats DIR --json") == []
    assert faults("corpus stat DIR") == ["no command 'stat'"]
    assert faults("corpus stats DIR --jsn") == ["no option '--jsn'"]
    assert faults("nothing") == ["no command 'nothing'"]
    assert faults("tune nnselect --resume") == []
    assert faults("tune nselect") == ["no command 'nselect'"]
    assert faults("nnselect") == ["no command 'nnselect'"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_wrap_at_120(page: Path) -> None:
    """But for tables, code, and lines that a link or a long command keeps together."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    long = [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")]
    assert [line for line in long if "](" not in line and not re.search(r"`[^`]{60,}`", line)] == []


def test_the_picture_of_the_architecture_is_what_its_script_draws(tmp_path: Path) -> None:
    """And the folders that it names are there."""
    script = ROOT / "docs" / "images" / "architecture.py"
    copy = tmp_path / script.name
    copy.write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([sys.executable, str(copy)], check=True)
    drawn = (tmp_path / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == script.with_suffix(".svg").read_text(encoding="utf-8")
    folders = re.findall(r">((?:platform|jobs|tuning|serve)/[\w/]+)<", drawn)
    assert len(folders) == 10
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
