"""What an editor shows of a paper: a short reference, and its description in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cocite.corpus.names import split_name
from cocite.corpus.records import OTHER_MARK, TARGET_MARK, PaperRecord
from cocite.pipeline.evidence import Evidence

_AUTHORS = 8
"""Authors that are named in a description."""
_REASONS = 3
"""Reasons of each kind."""
_CHARS = 400
"""Characters of one line of a description."""
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~$&-])")


def short_reference(paper: PaperRecord) -> str:
    """Authors and year, as ``Lee and Kim (2014)``.

    Example:
        >>> short_reference(PaperRecord("a", "On BLEU", authors=("Ann Lee", "Bo Kim"), year=2014))
        'Lee and Kim (2014)'
        >>> short_reference(PaperRecord("a", "On BLEU", authors=("Ann Lee", "Bo Kim", "Cy Wu")))
        'Lee et al.'
    """
    families = [_family(author) for author in paper.authors[:2]]
    names = f"{families[0]} et al." if len(paper.authors) > 2 else " and ".join(families)
    year = f"({paper.year})" if paper.year else ""
    return " ".join(part for part in (names, year) if part)


def description(paper: PaperRecord, notes: Sequence[str] = (), evidence: Evidence | None = None) -> str:
    """A paper in Markdown: title, authors, venue, reasons, and notes; its own words are escaped.

    Example:
        >>> print(description(PaperRecord("a", "On *BLEU*", authors=("Ann Lee",), venue="ACL", year=2014)))
        **On \\*BLEU\\***
        <BLANKLINE>
        Ann Lee
        <BLANKLINE>
        ACL 2014
    """
    authors = ", ".join(escaped(author) for author in paper.authors[:_AUTHORS])
    authors += " et al." if len(paper.authors) > _AUTHORS else ""
    published = " ".join(part for part in (escaped(paper.venue), str(paper.year or "")) if part)
    reasons = "\n".join(f"- {reason}" for reason in _reasons(evidence)) if evidence is not None else ""
    parts = (f"**{escaped(paper.title)}**", authors, published, reasons, *notes)
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """A text in one line of Markdown that shows it as it is.

    Example:
        >>> escaped("a_b\\n<i>")
        'a\\\\_b \\\\<i\\\\>'
    """
    line = " ".join(text.split())
    line = line if len(line) <= _CHARS else f"{line[:_CHARS]} …"
    return _MARKUP.sub(r"\\\1", line)


def _reasons(evidence: Evidence) -> list[str]:
    lines = []
    if evidence.shared_words:
        words = ", ".join(escaped(shared.word) for shared in evidence.shared_words[: 2 * _REASONS])
        lines.append(f"shared words: {words}")
    lines += [f"cited by the similar paper {escaped(paper.title)}" for paper in evidence.cited_by[:_REASONS]]
    for quoted in evidence.sentences[:_REASONS]:
        sentence = quoted.sentence.replace(TARGET_MARK, "[CIT]").replace(OTHER_MARK, "[…]")
        lines.append(f"cited as: {escaped(sentence)}")
    return lines


def _family(author: str) -> str:
    name = split_name(" ".join(author.split()))
    return f"{name.particle} {name.family}".strip() if name is not None else author
