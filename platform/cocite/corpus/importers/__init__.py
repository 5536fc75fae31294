"""Importers: each reads one format and yields records with their positions in the source.

=================  ==============================================================================================
format             source
=================  ==============================================================================================
``jsonl``          cocite's own JSON lines: papers, contexts, sentences, citations
``parquet``        a folder of ``papers.parquet``, ``citations.parquet``, ``contexts.parquet``, ``sentences-*.parquet``
``s2``             Semantic Scholar: S2AG ``papers``, ``abstracts``, ``citations`` and S2ORC full texts
``openalex``       OpenAlex works, as JSON lines or pages of the API
``citeomatic``     Citeomatic's JSON lines
``bibtex``         BibTeX bibliographies
=================  ==============================================================================================

A source is a file or a folder of files; each may be compressed (gzip, xz, zstd, bzip2), and JSON may stand in lines, in
an array or in documents over several lines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cocite.corpus.importers.bibtex import BibTeX
from cocite.corpus.importers.citeomatic import Citeomatic
from cocite.corpus.importers.detect import check_format, detect
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.importers.openalex import OpenAlex
from cocite.corpus.importers.parquet import NativeParquet
from cocite.corpus.importers.semantic_scholar import SemanticScholar
from cocite.corpus.importers.source import Source
from cocite.errors import InputError, NotFoundError, nearest

__all__ = ["FORMATS", "detect", "open_source"]

FORMATS: dict[str, Callable[[Path], Source]] = {
    "jsonl": NativeJSONL,
    "parquet": NativeParquet,
    "s2": SemanticScholar,
    "openalex": OpenAlex,
    "citeomatic": Citeomatic,
    "bibtex": BibTeX,
}


def open_source(path: str | Path, format: str | None = None) -> Source:
    """Open a source; its format is detected unless given.

    Raises:
        InputError: there is no such source, its format is not recognised, or its records are clearly of another format
            than the given one.
    """
    path = Path(path)
    if not path.exists():
        raise NotFoundError("no such file or folder", where=str(path))
    if format is not None and format not in FORMATS:
        raise InputError(f"unknown format {format!r}", where="--format", hint=nearest(format, FORMATS))
    if format is None:
        format = detect(path)
    else:
        check_format(path, format)
    return FORMATS[format](path)
