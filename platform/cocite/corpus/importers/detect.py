"""Recognises the format of a source, and says what was seen where it has none of the known ones."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocite.corpus.fields import suggest
from cocite.corpus.importers.citeomatic import Citeomatic
from cocite.corpus.importers.files import InputFile, bare_name, data_files, folder_files, packing
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
    raise InputError(
        f"the format cannot be told from the first record: this is {seen}", where=str(path), hint=hint
    )


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
    head = _head(file)
    if _describe_binary(head):
        return ""
    value = next(iter(first_objects(file)), None)
    if value is not None:
        return "" if _is_csl(value) else _recognise(value)
    return "bibtex" if _BIBTEX.search(head.decode("utf-8", "replace")) else ""


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
        lambda v: _is_csl(v),
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
    return f"a folder whose file {file.relative_to(path)} is {seen}", hint


def describe(file: Path) -> tuple[str, str]:
    """What a file seems to be that is of no known format, and what to do with it."""
    seen, hint = _describe(file)
    with file.open("rb") as raw:
        packed = packing(raw.read(8))
    if packed and not hint.startswith("tar "):
        seen, hint, file = f"{seen}, packed by {packed}", f"unpack it; {hint}", file.with_suffix("")
    return seen, hint.replace("FILE", shlex.quote(str(file)))


def _describe(file: Path) -> tuple[str, str]:
    head = _head(file)
    if binary := _describe_binary(head):
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


def _describe_binary(head: bytes) -> tuple[str, str] | None:
    for magic, answer in _BINARY.items():
        if head.startswith(magic):
            return answer
    if head[257:262] == b"ustar":
        return "a tar archive", "tar -xf FILE"
    return ("binary data", f"a source is text or Parquet; {_FORM}") if b"\0" in head else None


def _is_csl(value: dict[str, Any]) -> bool:
    """Whether an object is an item of CSL JSON, which has an id and a title as cocite's own papers have."""
    authors = value.get("author")
    return (
        any(name in value for name in ("container-title", "citation-key", "collection-title"))
        or isinstance(value.get("issued"), dict)
        or (isinstance(authors, list) and any(isinstance(a, dict) and "family" in a for a in authors))
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
