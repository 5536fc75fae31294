"""Recognises the format of a source."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from cocite.corpus.importers.acl_anthology import ACLAnthology
from cocite.corpus.importers.aminer import AMiner
from cocite.corpus.importers.arxiv_metadata import ArXiv
from cocite.corpus.importers.citeomatic import Citeomatic
from cocite.corpus.importers.crossref import Crossref
from cocite.corpus.importers.csl import CSL
from cocite.corpus.importers.endnote import EndNote
from cocite.corpus.importers.files import bare_name, data_files
from cocite.corpus.importers.grobid import Grobid
from cocite.corpus.importers.hatten import is_published
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.importers.openalex import OpenAlex
from cocite.corpus.importers.pdf import PDFs
from cocite.corpus.importers.ris import BEGIN
from cocite.corpus.importers.semantic_scholar import SemanticScholar
from cocite.corpus.importers.source import first_objects
from cocite.corpus.importers.unarxive import UnarXive
from cocite.corpus.importers.unknown_formats import describe_binary, describe_source, read_head
from cocite.corpus.importers.xml_records import root_of
from cocite.corpus.importers.zotero_rdf import ZoteroRDF
from cocite.errors import InputError

_BIBTEX = re.compile(r"(?m)^[ \t]*@[A-Za-z]+\s*[{(]\s*[^\s,{}()]+\s*,")
RECOGNISERS: dict[str, Callable[[dict[str, object]], bool]] = {
    "s2": SemanticScholar.recognises,
    "openalex": OpenAlex.recognises,
    "crossref": Crossref.recognises,
    "unarxive": UnarXive.recognises,
    "arxiv": ArXiv.recognises,
    "citeomatic": Citeomatic.recognises,
    "aminer": AMiner.recognises,
    "csl-json": CSL.recognises,
    "jsonl": NativeJSONL.recognises,
}
"""Format of JSON objects -> whether an object looks like one of it; the first that does has it."""

MARKUP: dict[str, Callable[[Element], bool]] = {
    "acl-anthology": ACLAnthology.recognises,
    "grobid": Grobid.recognises,
    "endnote": EndNote.recognises,
    "zotero-rdf": ZoteroRDF.recognises,
}
"""Format of XML -> whether an outermost element is that of it."""


def detect(path: Path) -> str:
    """The format of a source, from its files' names and their first records.

    Raises:
        InputError: the files are of several formats, or of none that is known.
    """
    if path.suffix == ".parquet" or (path.is_dir() and (path / "papers.parquet").exists()):
        return "parquet"
    if is_published(path):
        return "hatten"
    formats: dict[str, Path] = {}
    files = data_files(path)
    for file in files:
        if name := _format_of(file):
            formats.setdefault(name, file)
    if len(formats) > 1:
        seen = ", ".join(f"{file.name} ({name})" for name, file in formats.items())
        raise InputError(
            f"holds files of several formats: {seen}", where=str(path), hint="import one format at a time"
        )
    if formats:
        return next(iter(formats))
    seen, hint = describe_source(path, files)
    raise InputError(f"the format is not recognised: this is {seen}", where=str(path), hint=hint)


def check_format(path: Path, name: str) -> None:
    """Refuse a source whose records are clearly of another format than the one that was named.

    Raises:
        InputError: none of a file's first records looks like the named format, and one looks like another.
    """
    if name not in RECOGNISERS:
        return
    for file in data_files(path):
        values = first_objects(file)
        others = {other for value in values if (other := _recognise(value))}
        if others and not any(RECOGNISERS[name](value) for value in values):
            other = min(others)
            raise InputError(
                f"the records are those of {other}, not of {name}",
                where=str(file),
                hint=f"--format {other}",
            )


def _format_of(file: Path) -> str:
    """The format of one file; empty when it is none that is known."""
    if bare_name(file).endswith(".bib"):
        return "bibtex"
    head = read_head(file)
    if bare_name(file).endswith(PDFs.suffixes) or head.startswith(b"%PDF"):
        return "pdf"
    if describe_binary(head) or not head.strip():
        return ""
    if bare_name(file).endswith((".csv", ".tsv")):
        return "csv"
    value = next(iter(first_objects(file)), None)
    if value is not None:
        return _recognise(value)
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if BEGIN.match(text.lstrip()):
        return "ris"
    if text.lstrip().startswith("<"):
        root = root_of(head)
        return "" if root is None else next((name for name, fits in MARKUP.items() if fits(root)), "")
    return "bibtex" if _BIBTEX.search(text) else ""


def _recognise(value: dict[str, Any]) -> str:
    return next((name for name, fits in RECOGNISERS.items() if fits(value)), "")
