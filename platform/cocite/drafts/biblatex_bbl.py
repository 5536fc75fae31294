"""Reads the ``.bbl`` file of biblatex: fields of each entry, as Biber or BibTeX sorted them out of the .bib files.

It is read as the entries of a .bib file are. Versions of the format before 3 have a name's parts in an order, later
ones by their names; an entry that several sections or lists have counts once.

Source: ``biblatex.def`` and ``biblatex2.sty`` of biblatex, which read the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cocite.corpus.importers.bibtex_entries import Entry, Fields, papers
from cocite.corpus.records import PaperRecord
from cocite.drafts.latex_source import group_end

_ENTRY = re.compile(r"\\entry\{([^{}\n]{1,300})\}\{[^{}\n]{0,100}\}")
_END = r"\endentry"
_ALIAS = re.compile(r"\\keyalias\{([^{}\n]{1,300})\}\{([^{}\n]{1,300})\}")
_FIELD = re.compile(r"\\field\{(title|subtitle|journaltitle|booktitle|year|date|eprinttype)\}(?=\{)")
_VERBATIM = re.compile(r"\\verb\{(doi|eprint)\}\s*\\verb[ \t]+([^\n]*)")
_AUTHORS = re.compile(r"\\name\{author\}\{\d+\}\{[^{}\n]*\}(?=\{)")
_PART = re.compile(r"\b(family|given|prefix|suffix)=(?=\{)")
_ORDER = ("family", "", "given", "", "prefix", "", "suffix")
"""The parts of a name in formats before 3, which have initials between them."""
_SPACE = re.compile(r"\\bib(?:namedelim[a-z]|initdelim|rangedash)(?![a-zA-Z])\s?")


def biblatex_papers(text: str) -> Iterator[PaperRecord]:
    """The papers of a ``.bbl`` file, whose ids are their keys; those with other keys come again under these.

    Example:
        >>> title = r"\\field{title}{On {BERT}} \\field{year}{1999}"
        >>> names = r"\\name{author}{1}{}{{{hash=1}{family={Lee}, given={Ann}}}}"
        >>> paper, = biblatex_papers(rf"\\entry{{lee}}{{article}}{{}}{names}{title}\\endentry")
        >>> paper.id, paper.title, paper.authors, paper.year
        ('lee', 'On BERT', ('Ann Lee',), 1999)
    """
    # A sign of percent ends a line only to keep its space out.
    text = re.sub(r"(?<!\\)%\n\s*", "", text)
    entries: dict[str, Fields] = {}
    at = 0
    while (head := _ENTRY.search(text, at)) and (end := text.find(_END, head.end())) >= 0:
        if head[1] not in entries:
            entries[head[1]] = _fields(text[head.end() : end])
        at = end
    for other, key in _ALIAS.findall(text):
        if key in entries:
            entries.setdefault(other, entries[key])
    for key, fields in entries.items():
        if fields.get("title") or fields.get("doi"):  # a set has neither
            yield from (one for one in papers(Entry(key, fields), {}) if isinstance(one, PaperRecord))


def _fields(body: str) -> Fields:
    """The fields of an entry as a .bib file has them."""
    fields: Fields = {}
    for match in _FIELD.finditer(body):
        if match[1] not in fields:
            fields[match[1]] = " ".join(_group(body, match.end()).split())
    for name, value in _VERBATIM.findall(body):
        fields.setdefault(name, value.strip())
    authors = _AUTHORS.search(body)
    if authors is not None:
        people = (_name(person) for person in _groups(_group(body, authors.end())))
        fields["author"] = " and ".join(filter(None, people))
    return fields


def _name(person: str) -> str:
    """``{von Family}, {Jr}, {Given}`` of what stands for a person: options, then the parts."""
    _, *parts = _groups(person) or [""]
    if len(parts) == 1:
        named = {}
        for match in _PART.finditer(parts[0]):
            if match[1] not in named:
                named[match[1]] = _group(parts[0], match.end())
    else:
        named = dict(zip(_ORDER, parts, strict=False))
    named = {part: _SPACE.sub(" ", text) for part, text in named.items()}
    family = f"{named.get('prefix', '')} {named.get('family', '')}".strip()
    rest = [named.get("suffix", ""), named.get("given", "")]
    return ", ".join(f"{{{text}}}" for text in (family, *rest) if text)


def _groups(text: str) -> list[str]:
    """What the outermost groups of a text hold."""
    found, at = [], text.find("{")
    while at >= 0:
        end = group_end(text, at)
        if end is None:
            break
        found.append(text[at + 1 : end - 1])
        at = text.find("{", end)
    return found


def _group(text: str, start: int) -> str:
    """What the group holds that begins at ``start``; "" where it is not closed."""
    end = group_end(text, start)
    return "" if end is None else text[start + 1 : end - 1]
