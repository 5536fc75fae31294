"""Describes a file of no known format, and how to convert it."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocite.corpus.fields import suggest
from cocite.corpus.importers.files import InputFile, folder_files, packing
from cocite.corpus.importers.source import first_objects

HEAD = 1 << 16
"""Bytes at the beginning of a file that are read."""
_FORM = "a paper needs id and title: `cocite corpus schema` prints the form"
_BINARY: dict[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("a zip archive, or a workbook", "unpack it; save a workbook as CSV"),
    b"%PDF": ("a PDF", "name it FILE.pdf, or import it alone"),
    b"SQLite format 3": ("an SQLite database", f"write its rows as JSON lines; {_FORM}"),
    b"PAR1": ("a Parquet file", "name it papers.parquet, in a folder"),
    b"ARROW1": ("an Arrow file", "write it as papers.parquet, in a folder"),
    b"\xff\xfe": ("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW"),
    b"\xfe\xff": ("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW"),
}
"""First bytes -> format, what to do."""
_TEXTS: list[tuple[str, str, str]] = [
    (r"\s*$", "an empty file", "fetch or write it again"),
    (r"\s*%0 ", "EndNote's tagged references", "export them as RIS or BibTeX"),
    (
        r"\s*PMID- ",
        "PubMed's tagged references",
        "export them as RIS",
    ),
    (
        r"(?s)(?=.*\\(documentclass|begin|bibitem|section|usepackage|input)\b)",
        "LaTeX source",
        "import the .bib file of its references; for recommendations ask with its passages, as with `cocite rank`",
    ),
    (r"(?i)\s*(<!doctype html|<html)", "an HTML page", "fetch the data itself, not the page about it"),
    (r"\s*<\?xml|\s*<\w+[ >]", "XML", f"write its records as JSON lines; {_FORM}"),
]
"""Pattern that a text matches, its format, what to do."""
_OBJECTS: list[tuple[Callable[[dict[str, Any]], bool], str, str]] = [
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
        lambda v: any(
            isinstance(entry, dict) and {"masked_text", "title"} & set(entry) for entry in v.values()
        ),
        "an object of papers or contexts by their ids, as HAtten's authors published",
        "name the folder that holds papers.json, contexts.json and train.json, val.json or test.json",
    ),
]
"""Whether the first object is of a format, the format, what to do."""


def read_head(file: Path) -> bytes:
    """The first ``HEAD`` bytes of a file, unpacked."""
    with InputFile(file) as stream:
        return stream.read(HEAD)


def describe_source(path: Path, files: list[Path]) -> tuple[str, str]:
    """The likely format of a source and what to do with it; for a folder, the format of its first file."""
    if not path.is_dir():
        return describe(path)
    file = next(iter(files or folder_files(path)), None)
    if file is None:
        return "a folder without files", "name the folder that holds the records"
    seen, hint = describe(file)
    return f"a folder whose file {file.relative_to(path)} is {seen}", hint


def describe(file: Path) -> tuple[str, str]:
    """The likely format of a file and what to do with it."""
    seen, hint = _describe(file)
    with file.open("rb") as raw:
        packed = packing(raw.read(8))
    if packed and not hint.startswith("tar "):
        seen, hint, file = f"{seen}, packed by {packed}", f"unpack it; {hint}", file.with_suffix("")
    return seen, hint.replace("FILE", shlex.quote(str(file)))


def _describe(file: Path) -> tuple[str, str]:
    head = read_head(file)
    if binary := describe_binary(head):
        return binary
    value = next(iter(first_objects(file)), None)
    if value is not None:
        return _describe_object(value)
    text = head.decode("utf-8", "replace")
    for pattern, seen, hint in _TEXTS:
        if re.match(pattern, text):
            return seen, hint
    if text.lstrip().startswith(("{", "[")):
        return "JSON without a valid record", f"mend it; {_FORM}"
    return _describe_table(text) or (
        f"text that begins with {text.strip().splitlines()[0][:60]!r}",
        f"a source is JSON lines, Parquet or BibTeX; {_FORM}",
    )


def describe_binary(head: bytes) -> tuple[str, str] | None:
    """The format of binary data by its first bytes, and what to do with it; None for text."""
    for magic, answer in _BINARY.items():
        if head.startswith(magic):
            return answer
    if head[257:262] == b"ustar":
        return "a tar archive", "tar -xf FILE"
    return ("binary data", f"a source is text or Parquet; {_FORM}") if b"\0" in head else None


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
            recipe = "--format csv --columns id=COLUMN,title=COLUMN"
            return f"a {name} file with the columns {_listed(rows[0])}", recipe
    return None


def _listed(names: list[str]) -> str:
    return ", ".join(name[:40] for name in names[:12]) + (", …" if len(names) > 12 else "")
