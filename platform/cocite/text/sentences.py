"""Splits texts into sentences.

syntok splits texts; it handles initials, numbers and most of the abbreviations of scientific English. This module
undoes its wrong ends: no sentence ends after *Eq.*, nor without a mark that ends one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

_BEFORE = r"(?:^|[\s(\[])"
_OPEN = re.compile(_BEFORE + r"(?:cf|e\.g|et|i\.e|resp|viz|vs)\.$", re.IGNORECASE)
"""Abbreviations that never end a sentence."""
_NAMED = re.compile(
    _BEFORE
    + r"(?:al|algs?|app|chs?|chap|cor|defs?|eqn?s?|exs?|figs?|lem|nos?|pp?|props?|refs?|secs?|sects?|tabs?|thms?"
    r"|vols?)\.$",
    re.IGNORECASE,
)
"""Abbreviations that do not end a sentence if a number follows."""
_NUMBER = re.compile(r"[(\[]?(?:\d|[A-Z]\.?\d)")
_CLOSED = re.compile(r"[.!?:;…]['\"”’»)\]}]*$")
_SPACES = re.compile(r"\s+")
_INNER = re.compile(r" (?=[)\]])")


def split_sentences(texts: Iterable[str]) -> list[list[str]]:
    """The sentences of each text, in order; an empty text has none.

    Spaces become single, and are removed before a closing bracket, as ``( as in TARGETCIT ).`` would not end a
    sentence. All other characters are kept.

    Example:
        >>> split_sentences(["As Eq. 3 shows, it works. We parse."])
        [['As Eq. 3 shows, it works.', 'We parse.']]
    """
    return [_sentences(text) for text in texts]


def _sentences(text: str) -> list[str]:
    text = _INNER.sub("", _SPACES.sub(" ", text)).strip()
    if not text:
        return []
    tokenizer, segment = _syntok()
    sentences: list[str] = []
    start = 0
    for sentence in segment(tokenizer.tokenize(text)):
        end = sentence[-1].offset + len(sentence[-1].value)
        piece = text[start:end].strip()
        start = end
        if not piece:
            continue
        if sentences and not _ends(sentences[-1], piece):
            sentences[-1] = f"{sentences[-1]} {piece}"
        else:
            sentences.append(piece)
    if rest := text[start:].strip():
        sentences = [*sentences[:-1], f"{sentences[-1]} {rest}"] if sentences else [rest]
    return sentences


def _ends(sentence: str, following: str) -> bool:
    """Whether a sentence ends where syntok ends it."""
    if _OPEN.search(sentence) or not _CLOSED.search(sentence):
        return False
    return not (_NAMED.search(sentence) and _NUMBER.match(following))


@cache
def _syntok() -> tuple[Any, Any]:
    """syntok's tokenizer, which has no state, and its function that groups tokens into sentences."""
    from syntok.segmenter import segment
    from syntok.tokenizer import Tokenizer

    return Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False), segment
