"""An import in parts leaves what one in a single part does, by workers of Ray too, some of which are killed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.killed_driver import run_killed
from helpers.object_stores import everywhere
from helpers.pdf_files import article_file
from helpers.records import write_lines
from helpers.staged import one_part, outcome

from cocite.corpus.builder import build
from cocite.corpus.division import assembly
from cocite.corpus.importers import open_source
from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError
from cocite.locks import locked
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.importing.import_corpus import import_in_parts
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location

TESTS = Path(__file__).parents[3]


def source_of(tmp_path: Path, papers: int = 60) -> Path:
    """Papers with unknown, repeated and later citations, repeated ids, nameless contexts and broken lines."""
    lines: list[Any] = []
    for n in range(papers):
        year = 1990 + n % 7
        cited = [f"p{n // 2}", f"p{n // 2}", f"p{n + 3}", f"x{n % 5}"]
        context = {"cited": cited[2:], "context": f"text {n} [CIT]"}
        lines.append(
            {"id": f"p{n % 50}", "title": "T", "year": year, "citations": cited, "contexts": [context]}
        )
        lines.append({"paper": f"p{n}", "text": f"sentence {n}"} if n % 9 else "no JSON")
    return write_lines(tmp_path / "x.jsonl", lines)


def in_parts(source: Path, to: Path, workers: Workers, size: int = 1000, **options: Any) -> Corpus:
    return import_in_parts(open_source(source), to, workers, part_bytes=size, **options)


def test_in_this_process(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    steps: list[str] = []
    read: list[int] = []
    parts = outcome(
        tmp_path / "at",
        partial(in_parts, source),
        workers=Workers(),
        on_step=steps.append,
        advance=read.append,
    )
    assert parts == outcome(tmp_path / "at", partial(one_part, source))
    assert steps[0] == "putting the parts together"
    assert (len(read) > 5, sum(read)) == (True, source.stat().st_size)
    assert not list(tmp_path.rglob("*.parts*"))


@everywhere
def test_parts_elsewhere(tmp_path: Path, remote: str) -> None:
    source = source_of(tmp_path)
    (Location.of(remote) / "in").upload(tmp_path, [source.name])
    options = {"source_uri": f"{remote}/in/{source.name}", "to_uri": f"{remote}/store"}
    parts = outcome(tmp_path / "at", partial(in_parts, source), workers=Workers(), **options)
    assert parts == outcome(tmp_path / "at", partial(one_part, source))
    assert Location.of(remote).names() == ["in"]


def test_parts_elsewhere_that_one_process_puts_together(tmp_path: Path, remote: str) -> None:
    source = source_of(tmp_path)
    named = {"citing": "p1", "cited": ["p2"], "context": "a text with an id [CIT]", "id": "p1/0"}
    source.write_text(source.read_text() + json.dumps(named) + "\n")
    steps: list[str] = []
    options = {"workers": Workers(), "to_uri": f"{remote}/store", "on_step": steps.append}
    parts = outcome(tmp_path / "at", partial(in_parts, source), **options)
    assert parts == outcome(tmp_path / "at", partial(one_part, source))
    assert "joining the parts" not in steps


def test_columns_of_tables_reach_the_parts(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    for n in range(4):
        rows = "".join(f"k{n}{i},On {i},200{i}\n" for i in range(5))
        (tables / f"{n}.csv").write_text(f"Key,Name,Year\n{rows}")
    source = open_source(tables, columns="id=Key,title=Name,year=Year")
    found = import_in_parts(source, tmp_path / "parts", Workers(), part_bytes=1)
    whole = build(open_source(tables, columns="id=Key,title=Name,year=Year"), tmp_path / "whole")
    assert found.papers.table.equals(whole.papers.table)
    assert (len(found), found.paper(7).title) == (20, "On 2")


def test_a_folder_of_pdfs_is_one_part(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    entries = [f"[{n + 1}] A. Author. Title of number {n}. 2001." for n in range(2)]
    for n in range(2):
        (folder / f"{n}.pdf").write_bytes(article_file(f"Title of number {n}", "As [1,2] say.", entries))
    (folder / "broken.pdf").write_bytes(b"%PDF")
    read: list[int] = []
    parts = outcome(
        tmp_path / "at", partial(in_parts, folder, size=1), workers=Workers(), advance=read.append
    )
    assert parts == outcome(tmp_path / "at", partial(one_part, folder))
    assert read == [sum(path.stat().st_size for path in folder.iterdir())]
    corpus = in_parts(folder, tmp_path / "store", Workers(), size=1)
    assert (corpus.ids(range(2)), corpus.counts["citations"], corpus.counts["contexts"]) == (["0", "1"], 2, 2)


def test_what_was_read_before_an_interrupt_is_kept(tmp_path: Path) -> None:
    source, read = source_of(tmp_path), []

    def interrupt(size: int) -> None:
        read.append(size)
        if len(read) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        in_parts(source, tmp_path / "store", Workers(), advance=interrupt)
    assert not (tmp_path / "store").exists()
    staged = tmp_path / ".store.parts" / "staged"
    before = {path.name: path.stat().st_mtime_ns for path in staged.iterdir()}
    read.clear()
    kept: dict[str, int] = {}

    def look(size: int) -> None:
        read.append(size)
        kept.update((path.name, path.stat().st_mtime_ns) for path in staged.iterdir() if path.name in before)

    corpus = in_parts(source, tmp_path / "store", Workers(), advance=look)
    assert (len(before), kept) == (3, before)
    assert corpus.version == one_part(source, tmp_path / "one").version
    assert not staged.exists()


def test_parts_of_a_source_that_changed_are_read_again(tmp_path: Path) -> None:
    source = source_of(tmp_path)

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        in_parts(source, tmp_path / "store", Workers(), advance=interrupt)
    write_lines(source, [{"id": "new", "title": "New"}])
    assert in_parts(source, tmp_path / "store", Workers()).ids([0]) == ["new"]


def test_errors_are_those_of_an_import_in_one_part(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "x.jsonl", [{"id": "a", "title": "A"}, {"id": "b", "title": ""}] * 3)
    strict = outcome(tmp_path / "at", partial(in_parts, source, size=40), workers=Workers(), strict=True)
    assert strict == outcome(tmp_path / "at", partial(one_part, source), strict=True)
    assert "x.jsonl:2: title" in strict["error"]
    empty = write_lines(tmp_path / "y.jsonl", [{"id": "a", "title": ""}])
    with pytest.raises(InputError, match=r"y\.jsonl: no paper can be kept: 1 rejected"):
        in_parts(empty, tmp_path / "store", Workers())
    assert not list(tmp_path.glob(".store*"))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "file").touch()
    with pytest.raises(InputError, match="already exists"):
        in_parts(source, tmp_path / "store", Workers())


def test_two_imports_to_one_store(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    with locked(tmp_path / ".store.parts.lock"), pytest.raises(BusyError, match="is at work here"):
        in_parts(source, tmp_path / "store", Workers())


DRIVER = """
import os, sys
from pathlib import Path
from cocite.corpus.importers import open_source
from helpers.killed_part import Held
from cocite_jobs.steps.importing import import_corpus as module
from cocite_jobs.steps.run_parts import Workers
module.StageParts = Held
source, to = map(Path, sys.argv[1:])
module.import_in_parts(open_source(source), to, Workers(on="ray", count=1), part_bytes=10_000)
"""


@pytest.mark.integration
def test_on_ray_with_a_killed_driver_and_a_killed_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of(tmp_path, 4000)
    expected = outcome(tmp_path / "at", partial(one_part, source))
    store = tmp_path / "ray" / "store"
    finished = store.parent / ".store.parts" / "finished"
    store.parent.mkdir()
    run_killed(DRIVER, source, store, recorded=finished / "*.json", count=3)
    kept = {path.name for path in finished.glob("*.json")}
    assert 3 <= len(kept) < len(open_source(source).parts(10_000))
    assert not store.exists()

    # The workers read the helper that kills one of them.
    monkeypatch.setenv("PYTHONPATH", str(TESTS), os.pathsep)
    from helpers import killed_part

    monkeypatch.setattr("cocite_jobs.steps.importing.import_corpus.StageParts", killed_part.KilledOnce)
    read: list[int] = []
    with ray_connection("local"):
        in_parts(
            source,
            store,
            Workers(on="ray", count=2),
            size=10_000,
            rejects=store.parent / "rejects.jsonl",
            advance=read.append,
        )
    left = {path.name: path.read_bytes() for path in [store.parent / "rejects.jsonl", *store.iterdir()]}
    assert {"error": ""} | left == expected
    assert json.loads(left["manifest.json"])["meta"]["counts"]["papers"] == 50
    assert read[0] > 20_000  # the parts that the first driver made
    died = int((tmp_path / "ray" / "died").read_text())
    assert died != os.getpid()
    assert not (store.parent / ".store.parts").exists()


@pytest.mark.integration
@pytest.mark.thorough
def test_on_ray_in_a_store_with_killed_workers(
    tmp_path: Path, folder_in: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, remote = source_of(tmp_path, 4000), folder_in("s3")
    expected = outcome(tmp_path / "at", partial(one_part, source))
    (Location.of(remote) / "in").upload(tmp_path, [source.name])
    monkeypatch.setenv("PYTHONPATH", str(TESTS), os.pathsep)
    from helpers import killed_part

    monkeypatch.setattr("cocite_jobs.steps.importing.import_corpus.StepParts", killed_part.StepKilledOnce)
    monkeypatch.setattr(assembly, "RANGE", 20)
    with ray_connection("local"):
        found = outcome(
            tmp_path / "at",
            partial(in_parts, source, size=40_000),
            workers=Workers(on="ray", count=2),
            source_uri=f"{remote}/in/{source.name}",
            to_uri=f"{remote}/store",
        )
    assert found == expected
    died = {
        name: int(Location.of(remote).read(f"died-{name}") or 0) for name in ("ResolvePart", "OrderRange")
    }
    assert not set(died.values()) & {0, os.getpid()}
    assert len(set(died.values())) == 2
    assert Location.of(remote).names() == ["died-OrderRange", "died-ResolvePart", "in"]
