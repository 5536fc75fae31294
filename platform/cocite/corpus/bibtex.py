"""Papers as BibTeX entries, which :mod:`cocite.corpus.importers.bibtex` reads back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

import bibtexparser
from bibtexparser.middlewares import default_unparse_stack
from bibtexparser.model import Entry, Field

from cocite.corpus.latex import MATH, to_latex
from cocite.corpus.records import PaperRecord

_STOP = {"a", "an", "the", "on", "of", "for", "in", "to", "and", "with", "from", "by", "at"}
_PROCEEDINGS = re.compile(
    r"(?i:proceedings|conference|workshop|symposium|meeting)|^[A-Z][A-Za-z-]*[A-Z][A-Za-z-]*$", re.A
)
_JOURNALS = {"CACM", "JACM", "JAIR", "JASIST", "JMLR", "PNAS", "TACL", "TKDE", "TMLR", "TOIS", "TPAMI"}
_WORD = re.compile(rf"(?:{MATH.pattern}|\S)+")
_SUFFIX = re.compile(r",? ((?:Jr|Sr)\.?|I{2,3}|IV)$")
_COMPANY = re.compile(r"(?:Inc|Ltd|LLC|GmbH|Corp)\b\.?$")
_ARCHIVE = (
    r"astro-ph|cmp-lg|cond-mat|cs|gr-qc|hep-(?:ex|lat|ph|th)|math(?:-ph)?|nlin|nucl-(?:ex|th)|physics|q-bio"
    r"|quant-ph"
)
_ARXIV = re.compile(
    rf"(?:^|arxiv[:.] ?|\babs/)(\d{{4}}\.\d{{4,5}}|((?:{_ARCHIVE})(?:\.[a-z]{{2}})?)/\d{{7}})(?:v\d+)?(?![\w.-])"
    r"(?: ?\[([a-z.-]+)\])?",
    re.IGNORECASE | re.ASCII,
)
"""A preprint's number, and its class where it is given, in an id, a DOI, an address or a venue."""


def entry(paper: PaperRecord, key: str) -> str:
    """One entry: ``@inproceedings`` where the venue is proceedings, ``@article`` for another venue, else ``@misc``."""
    return _write([_entry(paper, key)])


def entries(papers: Sequence[PaperRecord]) -> str:
    """Several entries with keys that differ: a key used before gets a letter, as ``lee2019attentionb``."""
    used: set[str] = set()
    blocks = []
    for paper in papers:
        base = key = citation_key(paper)
        count = 1
        while key in used:
            count += 1
            key = base + _letters(count)
        used.add(key)
        blocks.append(_entry(paper, key))
    return _write(blocks)


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
            ("inproceedings", "booktitle") if _is_proceedings(paper.venue) else ("article", "journal")
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
    match = next(filter(None, map(_ARXIV.search, (paper.doi, paper.id, paper.venue))), None)
    if match is None:
        return []
    number, archive, subject = match.groups()
    return [
        ("eprint", number),
        ("archivePrefix", "arXiv"),
        ("primaryClass", subject or archive or ""),
        ("url", f"https://arxiv.org/abs/{number}"),
    ]


def _is_proceedings(venue: str) -> bool:
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
    suffix = _SUFFIX.search(name)
    stem = name[: suffix.start()] if suffix else name
    family, comma, given = stem.partition(",")
    if suffix and not comma:
        given, comma, family = stem.rpartition(" ")
    parts = [family.strip(), suffix[1] if suffix else "", given.strip()]
    if not comma:
        parts = [name]
    # BibTeX splits authors at the word "and", and "others" stands for further authors.
    elif "," in given or _COMPANY.search(given) or not parts[0] or not parts[2]:
        return f"{{{to_latex(name)}}}"
    if re.search(r"\band\b|^(?:others|et al\.?)$", name, re.IGNORECASE):
        return f"{{{to_latex(name)}}}"
    return ", ".join(to_latex(part) for part in parts if part)


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
