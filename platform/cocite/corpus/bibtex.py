"""Papers as BibTeX entries, which :mod:`cocite.corpus.importers.bibtex` reads back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

import bibtexparser
from bibtexparser.middlewares import default_unparse_stack
from bibtexparser.model import Entry, Field

from cocite.corpus.arxiv import preprint_of
from cocite.corpus.key_formula import DEFAULT, KeyFormula
from cocite.corpus.latex import MATH, to_latex
from cocite.corpus.names import split_name
from cocite.corpus.records import PaperRecord

COCITE = "cocite"
BETTER_BIBTEX = "better-bibtex"
"""Names of the forms of citation keys; any other form is a formula."""
_STOP = {"a", "an", "the", "on", "of", "for", "in", "to", "and", "with", "from", "by", "at"}
_PROCEEDINGS = re.compile(
    r"(?i:proceedings|conference|workshop|symposium|meeting)|^[A-Z][A-Za-z-]*[A-Z][A-Za-z-]*$", re.A
)
_JOURNALS = {"CACM", "JACM", "JAIR", "JASIST", "JMLR", "PNAS", "TACL", "TKDE", "TMLR", "TOIS", "TPAMI"}
_WORD = re.compile(rf"(?:{MATH.pattern}|\S)+")


def entry(paper: PaperRecord, key: str) -> str:
    """One entry: ``@inproceedings`` where the venue is proceedings, ``@article`` for another venue, else ``@misc``."""
    return _write([_entry(paper, key)])


def entries(papers: Sequence[PaperRecord], keys: Sequence[str] | None = None) -> str:
    """Several entries, with their keys, or else with those that :func:`citation_keys` gives them."""
    keys = citation_keys(papers) if keys is None else keys
    return _write([_entry(paper, key) for paper, key in zip(papers, keys, strict=True)])


def citation_keys(papers: Sequence[PaperRecord], taken: Iterable[str] = (), form: str = COCITE) -> list[str]:
    """Keys that differ, and are not taken: a key used before gets a letter, as ``lee2019attentionb``.

    They differ in more than their case: BibTeX refuses a draft that cites ``Lee2019`` and ``lee2019``.

    Args:
        papers: to name.
        taken: keys that stand for something else.
        form: ``cocite``: by :func:`citation_key`; ``better-bibtex``, or another formula of Better BibTeX: by
            :class:`~cocite.corpus.key_formula.KeyFormula`, where the second of a key gets an ``a``.

    Raises:
        InputError: the form is neither a name nor a formula that cocite knows.

    Example:
        >>> citation_keys([PaperRecord("a", "On Parsing", year=1999)] * 2, form="veryshorttitle.lower + year")
        ['parsing1999', 'parsing1999a']
    """
    formula = formula_of(form)
    make = formula.key if formula else citation_key
    used, keys = {key.lower() for key in taken}, []
    for paper in papers:
        base = key = make(paper)
        count = 0 if formula else 1
        while key.lower() in used:
            count += 1
            key = base + _letters(count)
        used.add(key.lower())
        keys.append(key)
    return keys


@lru_cache(maxsize=64)
def formula_of(form: str, where: str = "formula") -> KeyFormula | None:
    """The formula of a form of keys; None: ``cocite``.

    Args:
        form: as of :func:`citation_keys`.
        where: for errors.

    Raises:
        InputError: it is neither a name nor a formula that cocite knows.
    """
    if form == COCITE:
        return None
    return KeyFormula.parse(DEFAULT if form == BETTER_BIBTEX else form, where)


def citation_key(paper: PaperRecord) -> str:
    """Family name, year and the title's first word that is no stop word, in ASCII letters: ``vaswani2017attention``."""
    words = [_ascii(word) for word in re.findall(r"[^\W_]+", paper.title)]
    word = next((w for w in words if w and w not in _STOP), "paper")
    name = _ascii(_family(paper.authors[0])) if paper.authors else ""
    return f"{name or 'anon'}{paper.year or ''}{word}"


def _write(blocks: Iterable[Entry]) -> str:
    style = bibtexparser.BibtexFormat()
    style.indent, style.block_separator = "  ", "\n"
    stack = default_unparse_stack(allow_inplace_modification=True)
    return str(bibtexparser.write_string(bibtexparser.Library(list(blocks)), stack, bibtex_format=style))


def _entry(paper: PaperRecord, key: str) -> Entry:
    kind, holder = "misc", ""
    if paper.venue:
        kind, holder = (
            ("inproceedings", "booktitle") if is_proceedings(paper.venue) else ("article", "journal")
        )
    fields = [
        ("title", " ".join(_protect(word) for word in _WORD.findall(paper.title))),
        ("author", " and ".join(_name(author) for author in paper.authors if author.strip())),
        (holder, to_latex(paper.venue)),
        ("year", str(paper.year) if paper.year else ""),
        ("doi", re.sub(r"[{}\\\s]", "", paper.doi)),
        *_arxiv_fields(paper),
        ("keywords", ", ".join(_keyphrase(phrase) for phrase in paper.keyphrases if phrase.strip())),
    ]
    return Entry(kind, key, [Field(name, value) for name, value in fields if name and value])


def _arxiv_fields(paper: PaperRecord) -> list[tuple[str, str]]:
    """The fields that arXiv itself gives a preprint."""
    preprint = preprint_of(paper)
    if preprint is None:
        return []
    return [
        ("eprint", preprint.number),
        ("archivePrefix", "arXiv"),
        ("primaryClass", preprint.subject),
        ("url", preprint.url),
    ]


def is_proceedings(venue: str) -> bool:
    """Whether a venue is proceedings by its name: by a word such as Workshop, or as an acronym that is no journal's."""
    return venue not in _JOURNALS and bool(_PROCEEDINGS.search(venue))


def _family(author: str) -> str:
    if "," in author:
        return author.partition(",")[0]
    parts = author.split()
    return parts[-1] if parts else ""


def _name(author: str) -> str:
    """A name as BibTeX splits it: ``King, Jr., Martin Luther``; braces keep an organisation's in one piece."""
    name = " ".join(author.split())
    person = split_name(name)
    if person is None:
        return f"{{{to_latex(name)}}}"
    if not person.suffix and "," not in name:
        return to_latex(name)
    family = f"{person.particle} {person.family}".strip()
    return ", ".join(to_latex(part) for part in (family, person.suffix, person.given) if part)


def _keyphrase(phrase: str) -> str:
    text = to_latex(phrase)
    return f"{{{text}}}" if re.search("[,;]", phrase) else text


def _protect(word: str) -> str:
    """A title's word; braces keep the capitals within (BERT, LaTeX) from being lowered by a style."""
    text = to_latex(word)
    return f"{{{text}}}" if any(character.isupper() for character in word[1:]) else text


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(c for c in plain.lower() if c.isalnum())


def _letters(count: int) -> str:
    """2 -> b, 3 -> c, ..., 27 -> aa."""
    text = ""
    while count:
        count, digit = divmod(count - 1, 26)
        text = chr(ord("a") + digit) + text
    return text
