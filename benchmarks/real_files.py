"""What the readers find in files that programs and people wrote: entries and citations that are there, and those read.

    python -m benchmarks.real_files FOLDER

FOLDER holds such files, in folders or not: .bib, .ris, .rdf (Zotero), .xml (EndNote), .json (CSL-JSON), .docx, .tex
and .Rnw, .md, .qmd and .Rmd, and .bbl; the repository has none. What is there is counted by patterns, and not by the
readers: entries by their beginnings, of .docx the items that fields hold, of LaTeX and Markdown the keys of the file
itself. One line is printed for each form, and before these one for each file of which less was read.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import re
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cocite.corpus.importers.bibtex import BibTeX
from cocite.corpus.importers.csl import CSL
from cocite.corpus.importers.endnote import EndNote
from cocite.corpus.importers.ris import RIS
from cocite.corpus.importers.source import Source
from cocite.corpus.importers.zotero_rdf import ZoteroRDF
from cocite.corpus.records import PaperRecord
from cocite.drafts.reading import open_draft, open_files
from cocite.errors import InputError

_CODE = re.compile(
    r"(?<!\\)%[^\n]*|^<<.*?^@|\\begin\{([vV]erbatim|lstlisting|filecontents|comment)(\*?)\}.*?\\end\{\1\2\}",
    re.DOTALL | re.MULTILINE,
)
_CITE = re.compile(
    r"\\(?:[Aa]uto|[Pp]aren|[Tt]ext|[Ff]oot|full|super|smart)?[Cc]ite(?:p|t|alp|alt|author|year|yearpar|title)?\*?"
    r"(?:\s*\[[^\[\]]*\]){0,2}\s*\{([^{}\\#?]+)\}"
)
_MARKDOWN_CODE = re.compile(r"<!--.*?-->|^```.*?^```|(?<!\})`[^`\n]*`", re.DOTALL | re.MULTILINE)
_AT = re.compile(r"(?<![\w\\@])@([A-Za-z]\w*(?:[:.-]\w+)*)")


@dataclass(frozen=True, slots=True)
class Form:
    """Files of one form.

    Attributes:
        name: for the table.
        unit: what is counted.
        there: what a file holds; None: it is no file of this form.
        read: what the reader finds of it.
    """

    name: str
    unit: str
    there: Callable[[Path], set[str] | int | None]
    read: Callable[[Path], set[str] | int]


def main() -> None:
    """Print a line for each form."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    files = sorted(path for path in parser.parse_args().folder.rglob("*") if path.is_file())
    rows = []
    for suffixes, form in FORMS:
        count = refused = there = read = 0
        slowest = 0.0
        for path in (path for path in files if path.suffix.lower() in suffixes):
            expected = form.there(path)
            if not expected:
                continue
            count += 1
            began = time.perf_counter()
            found: set[str] | int
            try:
                found = form.read(path)
            except InputError as error:
                refused, found = refused + 1, 0
                print(f"{path}: {error}")
            slowest = max(slowest, time.perf_counter() - began)
            own, size = _shared(expected, found)
            there, read = there + size, read + own
            if own < size:
                print(f"{path}: {own} of {size}")
        if count:
            rows.append((form.name, count, refused, f"{read:,} of {there:,} {form.unit}", f"{slowest:.1f}"))
    print("\n| form | files | refused | read | slowest, s |\n| --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def _shared(expected: set[str] | int, found: set[str] | int) -> tuple[int, int]:
    """How many of what is expected were found, and how many are expected."""
    if isinstance(expected, set):
        return len(expected & found) if isinstance(found, set) else 0, len(expected)
    return min(expected, found if isinstance(found, int) else len(found)), expected


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")


def _pattern(pattern: str) -> Callable[[Path], int | None]:
    """Counts the places of a pattern in a file."""
    compiled = re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    return lambda path: len(compiled.findall(_text(path)))


def _papers(source: type[Source]) -> Callable[[Path], int]:
    """Counts the papers with a title or a DOI that a reader finds."""
    return lambda path: sum(
        isinstance(one, PaperRecord) and bool(one.title or one.doi or one.id) for one in source(path)
    )


def _items(path: Path) -> int | None:
    """The items of a file of CSL-JSON."""
    try:
        value = json.loads(_text(path))
    except ValueError:
        return None
    items = value.get("items") if isinstance(value, dict) else value
    return len(items) if isinstance(items, list) and all(isinstance(one, dict) for one in items) else None


def _fields(path: Path) -> int | None:
    """The items that the fields and controls of a .docx cite; EndNote's data stand in the field and within it again."""
    total = 0
    with zipfile.ZipFile(path) as packed:
        for name in ("document", "footnotes", "endnotes"):
            if f"word/{name}.xml" not in packed.namelist():
                continue
            xml = packed.read(f"word/{name}.xml").decode("utf-8", "replace")
            instructions = html.unescape("".join(re.findall(r"<w:instrText[^>]*>([^<]*)<", xml)))
            instructions += html.unescape("".join(re.findall(r'<w:fldSimple[^>]*w:instr="([^"]*)"', xml)))
            data = {_decoded(one) for one in re.findall(r"<w:fldData[^>]*>([^<]*)<", xml)}
            tags = [_decoded(one) for one in re.findall(r'w:val="MENDELEY_CITATION_v3_([^"]*)"', xml)]
            total += sum(one.count('"itemData"') for one in [instructions, *tags])
            total += sum(len(re.findall(r"<Cite[ >]", one)) for one in [instructions, *data])
            for field in re.findall(
                r"(?:^|\s)CITATION\s+(?!\\)\S[^\"]*?(?=CITATION\s|ADDIN|$)", instructions
            ):
                total += 1 + len(re.findall(r"\\m\s", field))
    return total


def _decoded(text: str) -> str:
    letters = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4)).decode("utf-8", "replace")
    except ValueError:
        return ""


def _latex_keys(path: Path) -> set[str] | None:
    """The keys that a main file of LaTeX cites itself."""
    text = _CODE.sub(" ", _text(path))
    if r"\documentclass" not in text:
        return None
    return {key.strip() for group in _CITE.findall(text) for key in group.split(",") if key.strip()}


def _markdown_keys(path: Path) -> set[str] | None:
    """The keys that a file of Markdown cites."""
    return set(_AT.findall(_MARKDOWN_CODE.sub(" ", _text(path))))


def _cited(path: Path) -> set[str]:
    return {citation.key for citation in open_draft(path).draft.citations}


def _printed(path: Path) -> int:
    """The entries of a .bbl beside a draft that has no .bib."""
    main = rb"\documentclass{article}\bibliography{gone}\begin{document}We parse.\end{document}"
    draft = open_files({"paper.tex": main, "paper.bbl": path.read_bytes()}).draft
    return len(draft.entries) + len(draft.bibitems)


def _printed_keys(path: Path) -> int:
    text = _text(path)
    # A set of entries has no title of its own.
    entries = set(re.findall(r"\\entry\{([^{}]*)\}\{(?!set\})", text))
    return len(entries) + len(re.findall(r"^\s*\\bibitem", text, re.MULTILINE))


FORMS: list[tuple[tuple[str, ...], Form]] = [
    (
        (".bib",),
        Form(
            "BibTeX, biblatex",
            "entries",
            _pattern(r"^\s*@(?!string|comment|preamble)\w+\s*[{(]"),
            _papers(BibTeX),
        ),
    ),
    ((".ris",), Form("RIS", "references", _pattern(r"^TY  ?-"), _papers(RIS))),
    (
        (".rdf",),
        Form("Zotero RDF", "items", _pattern(r"<z:itemType>(?!attachment|note)"), _papers(ZoteroRDF)),
    ),
    ((".xml",), Form("EndNote XML", "records", _pattern(r"<record>"), _papers(EndNote))),
    ((".json",), Form("CSL-JSON", "items", _items, _papers(CSL))),
    (
        (".docx",),
        Form("Word's fields", "cited items", _fields, lambda path: len(open_draft(path).draft.citations)),
    ),
    ((".tex", ".rnw"), Form("LaTeX", "keys", _latex_keys, _cited)),
    ((".md", ".qmd", ".rmd"), Form("Markdown", "keys", _markdown_keys, _cited)),
    ((".bbl",), Form(".bbl", "references", _printed_keys, _printed)),
]
"""Ends of names, and the form of such files."""


if __name__ == "__main__":
    main()
