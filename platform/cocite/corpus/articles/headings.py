"""Lines that say what follows them."""

from __future__ import annotations

import re

TITLE_CHARS = 250
"""A line longer than this is no title."""
HEADING_CHARS = 80
"""Characters of the longest heading."""
_ABSTRACT = re.compile(r"(?:\d+\.?\s*)?abstract\s*[.:]?", re.IGNORECASE)
_REFERENCES = re.compile(
    r"(?:\d+\.?\s*|[ivx]+\.\s*)?(?:references|bibliography|literature(?: cited)?|works cited|reference list)\s*[.:]?",
    re.IGNORECASE,
)
_BEHIND_REFERENCES = re.compile(r"(?:appendix|appendices|supplement|acknowledge?ments?)", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:(?:\d+|[ivx]+)\.?\s+)?(?:introduction|related works?|background|preliminaries|methods?|methodology|approach"
    r"|materials and methods|experiments?|experimental setup|evaluation|results|results and discussion|discussion"
    r"|limitations|conclusions?|conclusions? and future work|acknowledge?ments?)\s*[.:]?",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(r"(?:(?:1|i)\.?\s+)?introduction\s*[.:]?", re.IGNORECASE)
_ROMAN = re.compile(r"[IVX]{1,5}\.\s+[A-Z][A-Z ,:–-]{2,70}")


def is_abstract_heading(text: str) -> bool:
    """Whether a line says that the abstract follows.

    Example:
        >>> [is_abstract_heading(line) for line in ("ABSTRACT:", "Abstract machines")]
        [True, False]
    """
    return bool(_ABSTRACT.fullmatch(text.strip()))


def is_references_heading(text: str) -> bool:
    """Whether a line says that the list of references follows.

    Example:
        >>> [is_references_heading(line) for line in ("References", "6. Bibliography", "References help.")]
        [True, True, False]
    """
    return bool(_REFERENCES.fullmatch(text.strip()))


def begins_behind_references(text: str) -> bool:
    """Whether a heading begins what stands behind the list of references; others are pieces of the list.

    Example:
        >>> [begins_behind_references(heading) for heading in ("Appendix A", "Trees")]
        [True, False]
    """
    return bool(_BEHIND_REFERENCES.match(text.strip()))


def is_introduction_heading(text: str) -> bool:
    """Whether a line begins the body.

    Example:
        >>> [is_introduction_heading(line) for line in ("1 Introduction", "I. INTRODUCTION", "2 Data")]
        [True, True, False]
    """
    return bool(_INTRODUCTION.fullmatch(text.strip()))


def is_section_heading(text: str) -> bool:
    """Whether a line is one of the headings that most articles have, or one in capitals behind a Roman number.

    Example:
        >>> [is_section_heading(line) for line in ("Related Work", "IV. A MODEL OF TREES", "Trees")]
        [True, True, False]
    """
    text = text.strip()
    return bool(_NAMED.fullmatch(text) or _ROMAN.fullmatch(text))
