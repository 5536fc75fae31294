"""Papers as BibTeX entries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from cocite.corpus.records import PaperRecord

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "%": r"\%",
        "&": r"\&",
        "#": r"\#",
        "$": r"\$",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)
_STOP = {"a", "an", "the", "on", "of", "for", "in", "to", "and", "with", "from", "by", "at"}
_PROCEEDINGS = re.compile(
    r"(?i:proceedings|conference|workshop|symposium|meeting)|^[A-Z][A-Za-z-]*[A-Z][A-Za-z-]*$", re.A
)
_JOURNALS = {"CACM", "JACM", "JAIR", "JASIST", "JMLR", "PNAS", "TACL", "TKDE", "TMLR", "TOIS", "TPAMI"}


def entry(paper: PaperRecord, key: str) -> str:
    """One entry: ``@inproceedings`` when the venue sounds like it, ``@article`` with another, ``@misc`` without."""
    kind, holder = "misc", ""
    if paper.venue:
        kind, holder = (
            ("inproceedings", "booktitle") if _is_proceedings(paper.venue) else ("article", "journal")
        )
    fields = [
        ("title", _protect(paper.title)),
        ("author", " and ".join(_name(author) for author in paper.authors)),
        (holder, _escape(paper.venue)),
        ("year", str(paper.year) if paper.year else ""),
        ("doi", paper.doi.translate({ord("{"): None, ord("}"): None})),
    ]
    lines = [f"  {name} = {{{value}}}" for name, value in fields if name and value]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}\n"


def entries(papers: Sequence[PaperRecord]) -> str:
    """Several entries with keys that differ: a key used before gets a letter, as ``lee2019attentionb``."""
    used: set[str] = set()
    texts = []
    for paper in papers:
        base = key = citation_key(paper)
        count = 1
        while key in used:
            count += 1
            key = base + _letters(count)
        used.add(key)
        texts.append(entry(paper, key))
    return "\n".join(texts)


def citation_key(paper: PaperRecord) -> str:
    """Family name, year and first telling word of the title, in ASCII letters: ``vaswani2017attention``."""
    words = [_ascii(word) for word in re.findall(r"[^\W_]+", paper.title)]
    word = next((w for w in words if w and w not in _STOP), "paper")
    name = _ascii(_family(paper.authors[0])) if paper.authors else ""
    return f"{name or 'anon'}{paper.year or ''}{word}"


def _is_proceedings(venue: str) -> bool:
    """Whether a venue sounds like proceedings: it says so, or is an acronym that is no journal's."""
    return venue not in _JOURNALS and bool(_PROCEEDINGS.search(venue))


def _family(author: str) -> str:
    if "," in author:
        return author.partition(",")[0]
    parts = author.split()
    return parts[-1] if parts else ""


def _name(author: str) -> str:
    # BibTeX splits authors at the word "and": an author whose name holds it (a consortium) must be one unit.
    text = _escape(author)
    return f"{{{text}}}" if re.search(r"\band\b", author) else text


def _escape(text: str) -> str:
    return " ".join(text.split()).translate(_ESCAPES)


def _protect(title: str) -> str:
    """Escape, and keep the capitals inside words (BERT, LaTeX) from being lowered by a style."""
    first, *rest = " ".join(title.split()).split(" ")
    shield = [f"{{{_escape(word)}}}" if _keeps_case(word) else _escape(word) for word in rest]
    head = f"{{{_escape(first)}}}" if _keeps_case(first) else _escape(first)
    return " ".join([head, *shield])


def _keeps_case(word: str) -> bool:
    return sum(c.isupper() for c in word) >= 2 or any(c.isupper() for c in word[1:])


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
