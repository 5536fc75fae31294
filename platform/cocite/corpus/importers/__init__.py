"""Importers: each reads one format and yields records with their place in the source.

=================  ==============================================================================================
format             source
=================  ==============================================================================================
``jsonl``          cocite's own JSON lines: papers, contexts, sentences, citations
``parquet``        a folder of ``papers.parquet``, ``citations.parquet``, ``contexts.parquet``, ``sentences-*.parquet``
``s2``             Semantic Scholar: S2AG ``papers``, ``abstracts``, ``citations`` and S2ORC full texts
``openalex``       OpenAlex works
``citeomatic``     Citeomatic's JSON lines
``bibtex``         BibTeX bibliographies
=================  ==============================================================================================

A source is a file or a folder of files; each may be gzipped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cocite.corpus.importers.bibtex import BibTeX
from cocite.corpus.importers.citeomatic import Citeomatic
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.importers.openalex import OpenAlex
from cocite.corpus.importers.parquet import NativeParquet
from cocite.corpus.importers.semantic_scholar import SemanticScholar
from cocite.corpus.importers.source import Source, data_files, first_object
from cocite.errors import InputError, NotFoundError, nearest

FORMATS: dict[str, Callable[[Path], Source]] = {
    "jsonl": NativeJSONL,
    "parquet": NativeParquet,
    "s2": SemanticScholar,
    "openalex": OpenAlex,
    "citeomatic": Citeomatic,
    "bibtex": BibTeX,
}


def open_source(path: str | Path, format: str | None = None) -> Source:
    """Open a source; its format is detected unless given."""
    path = Path(path)
    if not path.exists():
        raise NotFoundError("no such file or folder", where=str(path))
    name = format or detect(path)
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}", where="--format", hint=nearest(name, FORMATS))
    return FORMATS[name](path)


def detect(path: Path) -> str:
    """The format of a source, from its files' names and its first record."""
    if path.suffix == ".parquet" or (path.is_dir() and (path / "papers.parquet").exists()):
        return "parquet"
    if not path.is_dir() and path.name.removesuffix(".gz").endswith(".bib"):
        return "bibtex"
    files = data_files(path)
    if files and all(file.name.removesuffix(".gz").endswith(".bib") for file in files):
        return "bibtex"
    for file in files:
        record = first_object(file)
        if record is None:
            continue
        for name in ("s2", "openalex", "citeomatic", "jsonl"):
            if _LOOKS_LIKE[name](record):
                return name
    raise InputError(
        "the format cannot be told from the first record",
        where=str(path),
        hint="name it with --format: " + ", ".join(FORMATS),
    )


_LOOKS_LIKE: dict[str, Callable[[dict[str, object]], bool]] = {
    "s2": SemanticScholar.recognises,
    "openalex": OpenAlex.recognises,
    "citeomatic": Citeomatic.recognises,
    "jsonl": NativeJSONL.recognises,
}
