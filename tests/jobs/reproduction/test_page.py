from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.offline_page import grounds, offline_page

from cocite.evaluation.report import Table
from cocite_jobs.reproduction.page import Contents, Shown, write_pages
from cocite_jobs.reproduction.plan import Exhibit, Plan, Plot, Setup
from cocite_jobs.reproduction.record import MadeExhibit
from cocite_jobs.reproduction.reproduce import Outcome

MODEL = {"model": "model/nnselect", "version": "ab12", "step": 40, "seed": 3, "seconds": 61.2}
TABLE = Table("Table 4", ["neighbours", "R@20"], [["1", 0.1], ["5", 0.25]], "A <note> & more.")


@pytest.fixture
def contents(empty_setup: Setup) -> Contents:
    exhibit = Exhibit(
        "table4",
        "Table 4: by <neighbours>",
        lambda setup: TABLE,
        "cocite evaluate tables --only 4",
        plot=Plot("columns", ("R@20",), "neighbours", "R@20", "OpenCorpus"),
    )
    plan = Plan("citeomatic", "Bhagavatula & others.", (), (exhibit,), {})
    made = [MadeExhibit("table4", TABLE, 1.25, [MODEL])]
    return Contents(
        plan, empty_setup, made, {"Table 2: x": "The <budget> was spent."}, {"Table 5": "No & never."}
    )


def test_the_page_is_whole_escaped_and_names_no_network(contents: Contents) -> None:
    text = contents.html()
    assert text.count("<svg") == 1
    assert "Table 4: by &lt;neighbours&gt;" in text
    assert "A &lt;note&gt; &amp; more." in text
    assert "The &lt;budget&gt; was spent." in text
    assert "<pre>cocite evaluate tables --only 4</pre>" in text
    assert "model/nnselect (version ab12, step 40, seed 3, trained in 61 s)" in text
    links = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(link.startswith(("#", "data:")) for link in links)
    ids = set(re.findall(r'<section id="([^"]*)"', text))
    assert {link[1:] for link in re.findall(r'<a href="([^"]*)"', text)} == ids
    assert 'class="ours">0.250<' in text
    assert "<td>0.142</td>" in text, "the paper's R@20 at five neighbours"


def test_what_the_layers_of_a_model_add_is_told(contents: Contents) -> None:
    [made] = contents.made
    model = MODEL | {"hierarchy": {"manuscripts": 0.5512, "papers": 0.0}}
    [shown] = replace(contents, made=[replace(made, models=[model, MODEL])]).shown
    first, second = shown.models
    assert "seed 3, layers add 0.55 to manuscripts and 0.00 to papers, trained" in first
    assert "layers" not in second


def test_markdown_and_json_say_the_same(contents: Contents) -> None:
    text = contents.markdown()
    assert "| 5 | 0.250 | 0.142 | 0.080 | 144 |" in text
    assert "- model/nnselect (version ab12, step 40, seed 3, trained in 61 s)" in text
    assert "- **Table 5**: No & never." in text
    data = contents.json()
    [exhibit] = data["exhibits"]
    assert exhibit["rows"] == [{"neighbours": "1", "R@20": 0.1}, {"neighbours": "5", "R@20": 0.25}]
    assert exhibit["models"] == [MODEL]
    assert {"row": "5", "column": "ms per query", "value": 144.0, "unit": "ms"}.items() <= exhibit[
        "published"
    ][5].items()
    assert data["missing"] == {"Table 2: x": "The <budget> was spent."}
    assert (data["size"], data["corpus version"]) == ("toy", contents.setup.corpus.version)


def test_models_of_a_kind_that_were_trained_longer_than_others_are_noted(contents: Contents) -> None:
    steps = {"model/a/nnselect": 40, "model/b/nnselect": 50, "model/nnrank": 900, "model/words": None}
    models = [MODEL | {"model": name, "step": step} for name, step in steps.items()]
    [made] = contents.made
    alike = replace(contents, made=[replace(made, models=models)])
    longer = replace(contents, made=[replace(made, models=[*models, MODEL | {"step": 51}])])
    note = (
        "The models of nnselect are of steps 40 to 51: their rows also differ by how long they were trained."
    )
    assert [shown.notes for shown in alike.shown] == [[TABLE.note]]
    assert [shown.notes for shown in longer.shown] == [[TABLE.note, note]]
    assert f"\n\n{TABLE.note}\n\n{note}\n\n" in longer.markdown()
    assert f"<p>{note}</p>" in longer.html()


def test_files_are_written_only_where_they_change(contents: Contents, tmp_path: Path) -> None:
    write_pages(contents, tmp_path)
    names = {"index.html", "report.md", "report.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in names}
    write_pages(contents, tmp_path)
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in names} == before
    write_pages(replace(contents, impossible={}), tmp_path)
    assert "impossible" in json.loads((tmp_path / "report.json").read_text())
    assert "Table 5" not in (tmp_path / "index.html").read_text()


def test_a_page_of_nothing_is_a_page(contents: Contents) -> None:
    bare = replace(contents, made=[], missing={}, impossible={})
    assert "<section" not in bare.html()
    assert bare.json()["exhibits"] == []


def test_a_table_that_is_not_drawn_has_no_figure() -> None:
    exhibit = Exhibit("table2", "Table 2: x", lambda setup: TABLE, "")
    assert Shown(exhibit, MadeExhibit("table2", TABLE, 1, []), []).figure is None


@pytest.mark.integration
@pytest.mark.parametrize("paper", ["citeomatic", "hatten"])
def test_the_page_opens_without_a_network(reproduced: Callable[[str], Outcome], paper: str) -> None:
    with offline_page(reproduced(paper).page, 1160) as page:
        for figure in page.locator("svg").all():
            box = figure.bounding_box()
            assert box["width"] > 500
            assert box["height"] > 100
        assert page.locator("td.ours").count() > 20
        assert grounds(page) == ["rgb(245, 247, 249)", "rgb(16, 18, 19)"]
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, (
            "a phone need not scroll sideways"
        )
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
