"""Imports in one part and in many, and what each leaves."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.corpus.importers.source import Source
from cocite.corpus.records import Record
from cocite.corpus.staged_parts import StagedParts, stage_part
from cocite.corpus.store import Corpus
from cocite.errors import InputError


def import_parts(source: Path, to: Path, size: int, format: str | None = None, **options: Any) -> Corpus:
    """Import a source in parts of some bytes, each staged by a source that was opened anew."""
    parts = open_source(source, format).parts(size)
    folders = [to.with_name(f"part-{number}") for number in range(len(parts))]
    common = {name: options[name] for name in ("limits", "strict") if name in options}
    staged = [
        stage_part(open_source(source, format), part, folder, **common)
        for part, folder in zip(parts, folders, strict=True)
    ]
    return build(StagedParts(source, folders, parts, staged, **_limits(options)), to, **options)


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


def records_in_parts(source: Source, size: int) -> list[tuple[Record, str]]:
    """The records of all parts of a source, each with its position in its part."""
    return [(r, str(source.position)) for part in source.parts(size) for r in source.read_part(part)]
