"""Finds the citations of a sentence by rule, and removes them with what would give them away."""

from __future__ import annotations

import re

from cocite.text.gaps import blank_marks

HOLE = "\ue000"
"""Stands where a citation was removed: a character of the private use area. No word sequence goes across it."""
LONGEST = 1_000
"""Characters of a sentence; what is longer is a table, a listing or sentences that were not divided."""
FEWEST_WORDS = 5
_MARK = re.compile(r"\[\[CIT:\d+\]\]|TARGETCIT|OTHERCIT|\[(?:OTHER)?CIT\]")
_NAME = r"(?:(?:van|von|de|der|den|di|la|le|del)\s){0,2}[A-Z][\w'’-]{1,30}"
_ET_AL = r"\s?,?\s?et\s?\.?\s?al\b\.{0,2}"
_YEAR = r"(?:1[89]\d\d|20\d\d)[a-z]?"
_LATE = rf"(?:{_YEAR}|['’]?\d\d[a-z]?(?=\s?[\])])|to appear|in press|forthcoming)"
_NAMES = rf"{_NAME}(?:{_ET_AL},?|(?:,\s{_NAME}){{0,4}},?\s(?:and|&)\s(?:{_NAME}|others|colleagues))?"
_CUE = r"(?:see|see also|cf\.?|e\.g\.?|i\.e\.?|for example|for instance|also)"
_BEHIND = r"(?:['’]s)?,?\s?"
_RULES = (
    re.compile(rf"[(\[]\s?(?:{_CUE},?\s){{0,3}}{_NAMES}{_BEHIND}\(?{_LATE}[^()\[\]]{{0,200}}[)\]]"),
    re.compile(rf"{_NAMES}(?:['’]s)?\s?[(\[]\s?{_LATE}[^()\[\]]{{0,60}}[)\]]"),
    re.compile(rf"{_NAME}{_ET_AL}(?:,?\s?\(?{_YEAR}\)?)?"),
)
"""(Smith and Lee, 2003); Smith and Lee (2003); Smith et al."""
_NUMBERS = re.compile(r"\\?\[\s?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,15}\s?\\?\]")
_HINT = re.compile(r"1[89]\d\d|20\d\d|\bal\b|[(\[][^()\[\]]*\d\d|to appear|in press|forthcoming")
_AROUND = re.compile(rf"[(\[][^()\[\]{HOLE}]{{0,60}}{HOLE}[^()\[\]]{{0,80}}[)\]]")
_CUE_BEFORE = re.compile(rf"\b(?:{_CUE},?\s?){{1,3}}(?={HOLE})", re.IGNORECASE)
_POSSESSIVE = re.compile(rf"{HOLE}\s?['’?]\s?s\b")
_REFERENCE = re.compile(
    r"\bIn Proc|Pro-?ceedings of|\bpages? \d|\bpp\. ?\d|University Press|Technical [Rr]eport|Ph\.?D\.? thesis"
    r"|\bVol(?:ume|\.) ?\d|, editors?\b"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_GOVERNING = (
    "about|after|against|although|among|and|as|at|because|before|between|both|but|by|following|for|from|in|into|like|of"
    "|on|or|over|see|since|than|that|through|to|under|unlike|using|via|when|where|whereas|which|while|with"
)
"""Words that something has to follow."""
_INCOMPLETE = re.compile(
    rf"^[\W_]*{HOLE}|\b(?:{_GOVERNING})\W{{0,3}}{HOLE}|\b(?:an?|the|this|our|their|its)\s?{HOLE}(?!\s?\w)"
    rf"|[,;:.(\[]\s?{HOLE}(?=\s?\w)",
    re.IGNORECASE,
)


def remove_citations(sentence: str, *, numbers: bool) -> tuple[str, bool]:
    """A sentence without its citations, and whether it had any.

    Citations are the marks of a corpus or a draft, and plain texts of the usual forms, such as papers outside a corpus
    have them: ``(Smith, 2003)``, ``Smith et al. (2003)``, ``[12]``. With a citation go the rest of its parentheses and
    words that only introduce it (*see*, *e.g.*), so that neither is a sign of where a citation stood.

    Args:
        sentence: of a paper's body or of a draft.
        numbers: whether ``[12]`` is a citation; in other texts it may be an example's number: see :func:`has_numbers`.

    Returns:
        The text with :data:`HOLE` where citations stood, and whether there is one.

    Example:
        >>> text, cites = remove_citations("Trees help (see Lee and Kim, 1999), as [[CIT:3]] shows.", numbers=False)
        >>> text.replace(HOLE, "_"), cites
        ('Trees help _, as _ shows.', True)
        >>> remove_citations("We parse in 1999.", numbers=False)
        ('We parse in 1999.', False)
    """
    # All rules have bounds on each repetition, and spaces are single, so that no text takes long.
    text = _MARK.sub(HOLE, " ".join(sentence.replace(HOLE, " ").split())[: 4 * LONGEST])
    if _HINT.search(text):
        for rule in _RULES:
            text = rule.sub(HOLE, text)
    if numbers:
        text = _NUMBERS.sub(HOLE, text)
    if HOLE not in text:
        return text, False
    text = _CUE_BEFORE.sub("", _AROUND.sub(HOLE, text))
    return _POSSESSIVE.sub(HOLE, text), True


def is_incomplete(text: str) -> bool:
    """Whether a sentence lacks a word where a citation was removed, as its subject or after a preposition.

    Such a sentence says by its grammar alone that something was cited in it, and nobody writes it into a draft.

    Args:
        text: of :func:`remove_citations`.

    Example:
        >>> examples = "Trees help [[CIT:1]].", "As [[CIT:1]] shows, trees help.", "We use the [[CIT:1]] parser."
        >>> [is_incomplete(remove_citations(text, numbers=False)[0]) for text in examples]
        [False, True, False]
    """
    return HOLE in text and _INCOMPLETE.search(text) is not None


def has_numbers(sentences: list[str]) -> bool:
    """Whether a text cites by numbers: at least five sentences have one in brackets, and no fewer than have marks.

    Example:
        >>> has_numbers(["As [1] shows."] * 5), has_numbers(["Example [1] shows."])
        (True, False)
    """
    numbered = sum(_NUMBERS.search(blank_marks(sentence)) is not None for sentence in sentences)
    return numbered >= 5 and numbered >= sum(_MARK.search(sentence) is not None for sentence in sentences)


def is_debris(text: str) -> bool:
    """Whether a text is no sentence: too short, too long, mostly numbers and symbols, or an entry of a reference list.

    Example:
        >>> is_debris("3.1 17 | 42 %"), is_debris("We parse all sentences of the corpus.")
        (True, False)
    """
    words = _WORD.findall(text)
    if len(words) < FEWEST_WORDS or len(text) > LONGEST:
        return True
    visible = len(text) - text.count(" ") - text.count(HOLE)
    return sum(map(len, words)) < 0.65 * visible or _REFERENCE.search(text) is not None
