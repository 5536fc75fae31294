"""Entries of BibTeX, as pybtex parses them, and the papers they describe."""

from __future__ import annotations

import re
from collections import UserDict
from collections.abc import Iterator
from dataclasses import dataclass

from pybtex.bibtex.utils import split_name_list, split_tex_string
from pybtex.database import InvalidNameString, Person
from pybtex.database.input.bibtex import LowLevelParser, month_names
from pybtex.scanner import Pattern, PrematureEOF, PybtexSyntaxError

from cocite.corpus.importers.record_reading import paper_of
from cocite.corpus.importers.values import bare_doi
from cocite.corpus.latex import from_latex
from cocite.corpus.records import ARXIV_DOI, Malformed, PaperRecord, Record

Fields = dict[str, str]
"""Name in lower case -> LaTeX, with single spaces."""
VENUES = ("journal", "journaltitle", "booktitle", "publisher")
INHERITED = ("title", "author", "year", "date", *VENUES, "crossref")
"""What an entry takes from the one that its ``crossref`` names: never what distinguishes the two, such as a DOI."""
_YEAR = re.compile(r"\d{3,4}")
_RUNS_ON = re.compile(r"\s*,\s*([A-Za-z][\w-]*)\s*=")
_ARXIV_AROUND = re.compile(r"^arxiv:\s*|v\d+$", re.IGNORECASE)
_NO_BRACES = str.maketrans("", "", "{}")
_NOT_NAMED = {"others", "et al", "et al."}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry whose abbreviations and concatenations are written out.

    Example:
        >>> from cocite.corpus.importers.bibtex_entries import Entry, papers
        >>> paper, = papers(Entry("lee99", {"title": "On {BERT}", "date": "1999-05"}), parents={})
        >>> paper.title, paper.year
        ('On BERT', 1999)
    """

    key: str
    fields: Fields


class EntryParser:
    """Parses pieces of one file; abbreviations defined in an earlier piece hold in the later ones.

    Example:
        >>> from cocite.corpus.importers.bibtex_entries import EntryParser
        >>> parser = EntryParser()
        >>> list(parser.parse("@string{acl = {ACL}}", 1))
        []
        >>> list(parser.parse("@misc{a, booktitle = acl # { 1999}}", 2))
        [(2, Entry(key='a', fields={'booktitle': 'ACL 1999'}))]
    """

    def __init__(self) -> None:
        self._strings = _Strings(month_names)

    def parse(self, text: str, first: int) -> Iterator[tuple[int, Entry | Malformed]]:
        """The entries of a piece and what is wrong with them, each with the number of its line.

        Args:
            text: the piece.
            first: number of its first line.
        """
        parser = _Parser(text, first, self._strings)
        for kind, body in parser:
            line = parser.line_of(parser.command_start)
            yield from parser.take_errors()
            for name in self._strings.take_undefined():
                yield line, Malformed(f"the abbreviation {name!r} is not defined", rule="undefined_string")
            if kind.lower() in ("string", "preamble") or parser.command_start in parser.broken:
                continue
            key, values = body
            fields: Fields = {}
            for name, parts in values:
                if name.lower() in fields:
                    yield line, Malformed(f"the entry {key!r} has {name!r} twice", name, "repeated_field")
                fields.setdefault(name.lower(), " ".join("".join(parts).split()))
            runs_on = _RUNS_ON.match(text, parser.pos)
            if runs_on:
                reason = f"the entry {key!r} ends before its field {runs_on[1]!r}: there is a closing brace too many"
                yield line, Malformed(reason, excerpt=text[parser.command_start :][:200])
            else:
                yield line, Entry(key, fields)
        yield from parser.take_errors()


class _Strings(UserDict[str, str]):
    """Abbreviations, without regard to case; one that is not defined stands for its name."""

    def __init__(self, strings: dict[str, str]) -> None:
        self._undefined: list[str] = []
        super().__init__(strings)

    def __setitem__(self, name: str, text: str) -> None:
        super().__setitem__(name.lower(), text)

    def __getitem__(self, name: str) -> str:
        if name.lower() not in self.data:
            self._undefined.append(name)
        return self.data.get(name.lower(), name)

    def take_undefined(self) -> list[str]:
        undefined, self._undefined = self._undefined, []
        return undefined


class _Parser(LowLevelParser):  # type: ignore[misc]
    """pybtex' parser that goes on after an error."""

    # An address (me@host) begins no entry, and a key may hold spaces, as some programs write them.
    AT = Pattern(r"(?<!\w)@(?=\s*[\w-]+\s*[{(])", "'@'")
    KEY_BRACE = Pattern(r"[^\s,}]+(?:[ \t]+[^\s,}={\"]+)*", "an entry key")
    KEY_PAREN = Pattern(r"[^\s,]+", "an entry key")

    def __init__(self, text: str, first: int, strings: _Strings) -> None:
        super().__init__(text, macros=strings)
        self.first = first
        self.broken: set[int] = set()
        """Where the entries begin that have an error."""
        self._value_start = 0
        self._in_value = False
        self._errors: list[tuple[int, Malformed]] = []

    def line_of(self, position: int) -> int:
        """The number of a position's line in the file."""
        return self.first + int(self.text.count("\n", 0, position))

    def take_errors(self) -> Iterator[tuple[int, Malformed]]:
        """The errors since the last call, each with the line where its entry begins."""
        errors, self._errors = self._errors, []
        yield from errors

    def parse_value(self) -> None:
        self._value_start = self.pos
        super().parse_value()

    def parse_value_part(self) -> str:
        self._in_value = True
        part = super().parse_value_part()
        self._in_value = False
        return str(part)

    def handle_error(self, error: PybtexSyntaxError) -> None:
        self.broken.add(self.command_start)
        mistake = Malformed(self._explain(error), excerpt=self.text[self.command_start :][:200])
        self._errors.append((self.line_of(self.command_start), mistake))

    def _explain(self, error: PybtexSyntaxError) -> str:
        entry = f"the entry {self.current_entry_key!r}" if self.current_entry_key else "an entry"
        field, inside = self.current_field_name, self._in_value
        where = f" the field {field!r} of line {self.line_of(self._value_start)}" if field else " its key"
        self._in_value = False
        if isinstance(error, PrematureEOF):
            # A field that swallowed the closing brace of the entry was closed as well.
            what = (
                "a brace or quotation mark stays open" if inside else "a closing brace is missing in or after"
            )
            return f"{entry} is not closed: {what}{' in' if inside else ''}{where}"
        wanted = str(error.args[0]).replace("'}' expected", "a comma or '}' expected")
        where = f"in line {self.line_of(self.pos)}, {'in' if inside else 'after'}{where}"
        return f"{entry} is not valid BibTeX: {wanted} {where}"


def papers(entry: Entry, parents: dict[str, Fields]) -> Iterator[Record]:
    """The paper of an entry, with what it inherits, after the :class:`Malformed` of an unknown ``crossref``.

    Args:
        entry: the entry.
        parents: key in lower case -> fields, of the entries that others refer to.
    """
    fields = entry.fields
    seen = set()
    while (key := fields.get("crossref", "").lower()) and key not in seen:
        seen.add(key)
        if key not in parents:
            reason = f"the entry {entry.key!r} refers to {fields['crossref']!r}, which the file does not hold"
            yield Malformed(reason, "crossref", "unknown_crossref")
            break
        inherited = dict(parents[key])
        if "title" in inherited and not any(name in inherited for name in VENUES[:3]):
            inherited["booktitle"] = inherited["title"]
        fields = inherited | {name: text for name, text in fields.items() if name != "crossref"}
    yield _paper(entry.key, fields)


def _paper(key: str, fields: Fields) -> PaperRecord:
    year = _YEAR.search(fields.get("year", "") or fields.get("date", ""))
    venue = next((fields[name] for name in VENUES if fields.get(name)), "")
    keyphrases = map(from_latex, split_tex_string(fields.get("keywords", ""), "[,;]"))
    return paper_of(
        {},
        id=key,
        title=_title(fields),
        abstract=from_latex(fields.get("abstract", "")),
        year=int(year.group()) if year else 0,
        venue=from_latex(venue),
        authors=_authors(fields.get("author", "")),
        keyphrases=tuple(filter(None, keyphrases)),
        doi=_doi(fields),
    )


def _title(fields: Fields) -> str:
    """The title with the subtitle that biblatex keeps in a field of its own."""
    title, subtitle = (from_latex(fields.get(name, "")) for name in ("title", "subtitle"))
    if not (title and subtitle):
        return title or subtitle
    return f"{title} {subtitle}" if title[-1] in ".:?!" else f"{title}: {subtitle}"


def _authors(text: str) -> tuple[str, ...]:
    """``Given von Family Jr`` of each; a name in braces belongs to an organisation and stays."""
    names = split_name_list(text)
    if names and names[-1].lower() in _NOT_NAMED:
        names.pop()
    return tuple(filter(None, map(_name, names)))


def _name(text: str) -> str:
    try:
        person = Person(text)
    except InvalidNameString:  # more than two commas
        return from_latex(text)
    given = [*person.first_names, *person.middle_names]
    return from_latex(" ".join([*given, *person.prelast_names, *person.last_names, *person.lineage_names]))


def _doi(fields: Fields) -> str:
    """The DOI, or that of the preprint on arXiv which the entry names instead."""
    given = fields.get("doi", "")
    doi = bare_doi(from_latex(given) if "\\" in given else given.translate(_NO_BRACES))
    prefix = fields.get("archiveprefix") or fields.get("eprinttype", "")
    if doi or not fields.get("eprint") or prefix.lower() != "arxiv":
        return doi
    return ARXIV_DOI + _ARXIV_AROUND.sub("", fields["eprint"])
