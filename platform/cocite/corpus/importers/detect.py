"""Recognises the format of a source, and says what was seen where it has none of the known ones."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocite.corpus.fields import suggest
from cocite.corpus.importers.citeomatic import Citeomatic
from cocite.corpus.importers.files import InputFile, bare_name, data_files, folder_files
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.importers.openalex import OpenAlex
from cocite.corpus.importers.semantic_scholar import SemanticScholar
from cocite.corpus.importers.source import first_objects
from cocite.errors import InputError

HEAD = 1 << 16
"""Bytes of a file that are looked at."""
_BIBTEX = re.compile(r"(?m)^[ \t]*@[A-Za-z]+\s*[{(]\s*[^\s,{}()]+\s*,")
RECOGNISERS: dict[str, Callable[[dict[str, object]], bool]] = {
    "s2": SemanticScholar.recognises,
    "openalex": OpenAlex.recognises,
    "citeomatic": Citeomatic.recognises,
    "jsonl": NativeJSONL.recognises,
}
"""Format of JSON objects -> whether an object looks like one of it; the first that does has it."""


def detect(path: Path) -> str:
    """The format of a source, from its files' names and their first records.

    Raises:
        InputError: the files are of several formats, or of none that is known.
    """
    if path.suffix == ".parquet" or (path.is_dir() and (path / "papers.parquet").exists()):
        return "parquet"
    found: dict[str, Path] = {}
    files = data_files(path)
    for file in files:
        if name := _format_of(file):
            found.setdefault(name, file)
    if len(found) > 1:
        seen = ", ".join(f"{file.name} ({name})" for name, file in found.items())
        raise InputError(
            f"holds files of several formats: {seen}", where=str(path), hint="import one format at a time"
        )
    if found:
        return next(iter(found))
    seen, hint = _describe_all(path, files)
    raise InputError(f"the format cannot be told from the first record: {seen}", where=str(path), hint=hint)


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
    value = next(iter(first_objects(file)), None)
    if value is not None:
        return _recognise(value)
    return "bibtex" if _BIBTEX.search(_head(file).decode("utf-8", "replace")) else ""


def _recognise(value: dict[str, Any]) -> str:
    return next((name for name, fits in RECOGNISERS.items() if fits(value)), "")


def _head(file: Path) -> bytes:
    with InputFile(file) as stream:
        return stream.read(HEAD)


# -- what was seen ------------------------------------------------------------------------------------------

_FORM = "a paper needs id and title: `cocite corpus schema` prints the form"
_BINARY: dict[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("a zip archive, or a workbook", "unpack it; save a workbook as CSV"),
    b"%PDF": ("a PDF", "a corpus is made of records, as BibTeX or JSON lines"),
    b"SQLite format 3": ("an SQLite database", f"write its rows as JSON lines; {_FORM}"),
    b"PAR1": ("a Parquet file", "name it papers.parquet, in a folder"),
    b"ARROW1": ("an Arrow file", "write it as papers.parquet, in a folder"),
    b"\xff\xfe": ("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW"),
    b"\xfe\xff": ("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW"),
}
"""First bytes -> what such a file is, what to do."""
_TEXTS: list[tuple[str, str, str]] = [
    (r"\s*$", "an empty file", "fetch or write it again"),
    (r"\s*TY  - ", "RIS", "export it as BibTeX, or: pandoc -f ris -t bibtex FILE -o NEW.bib"),
    (r"\s*%0 ", "EndNote's tagged references", "export them as BibTeX"),
    (
        r"\s*PMID- ",
        "PubMed's tagged references",
        "export them as RIS, and: pandoc -f ris -t bibtex FILE -o NEW.bib",
    ),
    (
        r"(?s)(?=.*\\(documentclass|begin|bibitem|section|usepackage|input)\b)",
        "LaTeX source",
        "import the .bib file of its references; for recommendations ask with its passages, as with `cocite rank`",
    ),
    (r"(?i)\s*(<!doctype html|<html)", "an HTML page", "fetch the data itself, not the page about it"),
    (r"\s*<\?xml|\s*<\w+[ >]", "XML", f"write its records as JSON lines; {_FORM}"),
]
"""What a text begins with or holds, what it is, what to do."""
_OBJECTS: list[tuple[Callable[[dict[str, Any]], bool], str, str]] = [
    (
        lambda v: "title" in v and any(name in v for name in ("issued", "container-title", "citation-key")),
        "CSL JSON",
        "export it as BibTeX, or: pandoc -f csljson -t bibtex FILE -o NEW.bib",
    ),
    (
        lambda v: "_id" in v and "text" in v,
        "a BEIR corpus with _id, title and text",
        "jq -c '{id: ._id, title, abstract: .text}' FILE > NEW.jsonl",
    ),
    (
        lambda v: "paperId" in v,
        "papers of Semantic Scholar's API",
        "jq -c '{id: .paperId, title, abstract, year, venue, authors: [.authors[]?.name], "
        "citations: [.references[]?.paperId // empty]}' FILE > NEW.jsonl",
    ),
    (
        lambda v: isinstance(v.get("data"), list),
        "a page of an API with `data`",
        "write each element of `data` as a line: jq -c '.data[]' FILE > NEW.jsonl",
    ),
    (
        lambda v: "message-type" in v or ("DOI" in v and isinstance(v.get("title"), list)),
        "works of Crossref's API",
        "jq -c '(.message.items // [.message // .])[] | {id: .DOI, doi: .DOI, title: .title[0], "
        'year: .issued."date-parts"[0][0], citations: [.reference[]?.DOI // empty]}\' FILE > NEW.jsonl',
    ),
]
"""Whether a first object is of a kind, what it is, what to do."""


def _describe_all(path: Path, files: list[Path]) -> tuple[str, str]:
    """What a source seems to be, and what to do; for a folder, what its first file seems to be."""
    if not path.is_dir():
        return describe(path)
    file = next(iter(files or folder_files(path)), None)
    if file is None:
        return "a folder without files", "name the folder that holds the records"
    seen, hint = describe(file)
    return f"{file.relative_to(path)} is {seen}", hint


def describe(file: Path) -> tuple[str, str]:
    """What a file seems to be that is of no known format, and what to do with it."""
    value = next(iter(first_objects(file)), None)
    if value is not None:
        return _describe_object(value)
    head = _head(file)
    for magic, answer in _BINARY.items():
        if head.startswith(magic):
            return answer
    if head[257:262] == b"ustar":
        return "a tar archive", "unpack it: tar -xf FILE"
    text = head.decode("utf-8", "replace")
    if "\0" in text:
        return "binary data", f"a source is text or Parquet; {_FORM}"
    for pattern, seen, hint in _TEXTS:
        if re.match(pattern, text):
            return seen, hint
    return _describe_table(text) or (
        f"text that begins with {text.strip().splitlines()[0][:60]!r}",
        f"a source is JSON lines, Parquet or BibTeX; {_FORM}",
    )


def _describe_object(value: dict[str, Any]) -> tuple[str, str]:
    for fits, seen, hint in _OBJECTS:
        if fits(value):
            return seen, hint
    names = list(value)
    meant = {
        name: field for name in names if name not in ("id", "title") and (field := suggest("paper", name))
    }
    needed = [f"{name} as {field}" for name, field in meant.items() if field in ("id", "title")]
    seen = f"a JSON object with the fields {_listed(names)}" if names else "a JSON object without fields"
    return seen, f"give {' and '.join(needed)}; {_FORM}" if needed else _FORM


def _describe_table(text: str) -> tuple[str, str] | None:
    """A text whose first two lines have the same number of cells."""
    for delimiter, name in ((",", "CSV"), ("\t", "tab-separated"), (";", "semicolon-separated")):
        try:
            rows = [
                row
                for row, _ in zip(csv.reader(text.splitlines(), delimiter=delimiter), range(2), strict=False)
            ]
        except csv.Error:
            continue
        if len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            recipe = (
                (
                    "python -c 'import csv, json, sys; [print(json.dumps(row)) for row in "
                    f"csv.DictReader(sys.stdin, delimiter={delimiter!r})]' < FILE > NEW.jsonl"
                )
                .replace("','", '","')
                .replace("';'", '";"')
                .replace(r"'\t'", r'"\t"')
            )
            return f"a {name} file with the columns {_listed(rows[0])}", f"{recipe}; {_FORM}"
    return None


def _listed(names: list[str]) -> str:
    return ", ".join(name[:40] for name in names[:12]) + (", …" if len(names) > 12 else "")
