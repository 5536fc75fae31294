"""Imports in one part and in many, and what each leaves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.corpus.importers.source import Source
from cocite.corpus.records import Record
from cocite.corpus.staged_parts import STAGED, StagedParts, stage_part
from cocite.corpus.store import Corpus
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError
from cocite.part_files import LocalFiles, PartFiles


def run_here(files: PartFiles, step: Any, count: int) -> list[dict[str, Any]]:
    """Make the parts of a step in this process, each by a step that was opened anew; results travel as JSON."""
    opened = (step.open(files.read(step.shared)) for _ in range(count))
    return [dict(json.loads(json.dumps(make(files, number)))) for number, make in enumerate(opened)]


def import_parts(
    source: Path, to: Path, size: int, format: str | None = None, *, divided: bool = False, **options: Any
) -> Corpus:
    """Import a source in parts of some bytes, each staged by a source that was opened anew.

    Args:
        source: the source.
        to: the store to make.
        size: bytes of a part, about.
        format: of the source.
        divided: resolve the parts and order their texts and links side by side, too.
        options: of ``build``.
    """
    parts = open_source(source, format).parts(size)
    names = [f"{number:05d}" for number in range(len(parts))]
    files = LocalFiles(to.with_name("parts"))
    (files.root / STAGED).mkdir(parents=True)
    common = {name: options[name] for name in ("limits", "strict") if name in options}
    staged = [
        stage_part(open_source(source, format), part, files.root / STAGED / name, **common)
        for part, name in zip(parts, names, strict=True)
    ]
    run = partial(run_here, files) if divided else None
    whole = StagedParts(source, files, names, parts, staged, **_limits(options), run=run)
    try:
        return build(whole, to, **options)
    finally:
        shutil.rmtree(to.with_name("parts"))


def _limits(options: dict[str, Any]) -> dict[str, Any]:
    return {"limits": options["limits"]} if options.get("limits") else {}


def outcome(folder: Path, run: Callable[..., Corpus], **options: Any) -> dict[str, Any]:
    """What an import leaves: the bytes of the store's files and of the rejects, and the error's sentence."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    error = ""
    try:
        run(to=folder / "store", rejects=folder / "rejects.jsonl", **options)
    except InputError as raised:
        error = str(raised).replace(str(folder), "")
    kept = [folder / "rejects.jsonl", *sorted((folder / "store").glob("*"))]
    return {"error": error} | {path.name: path.read_bytes() for path in kept if path.exists()}


def one_part(source: Path, to: Path, format: str | None = None, **options: Any) -> Corpus:
    """Import a source as a stream of records."""
    return build(open_source(source, format), to, **options)


class _OneByOne:
    """A source that gives its records one by one, and no blocks."""

    def __init__(self, source: Source) -> None:
        self.source, self.path = source, source.path

    @property
    def position(self) -> SourcePosition:
        return self.source.position

    def __iter__(self) -> Iterator[Record]:
        return iter(self.source)


def one_by_one(source: Path, to: Path, format: str | None = None, **options: Any) -> Corpus:
    """Import a source as a stream of single records."""
    return build(_OneByOne(open_source(source, format)), to, **options)


def records_in_parts(source: Source, size: int) -> list[tuple[Record, str]]:
    """The records of all parts of a source, each with its position in its part."""
    return [(r, str(source.position)) for part in source.parts(size) for r in source.read_part(part)]
