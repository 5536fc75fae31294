"""Texts cut into sentences.

The cuts are syntok's, which knows initials, numbers and most of the abbreviations of scientific English. What it does
not know of them is mended here: no sentence ends after *Eq.*, nor without a mark that ends one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

_BEFORE = r"(?:^|[\s(\[])"
_OPEN = re.compile(_BEFORE + r"(?:cf|e\.g|et|i\.e|resp|viz|vs)\.$", re.IGNORECASE)
"""Ends of what is no sentence, whatever follows."""
_NAMED = re.compile(
    _BEFORE
    + r"(?:al|algs?|app|chs?|chap|cor|defs?|eqn?s?|exs?|figs?|lem|nos?|pp?|props?|refs?|secs?|sects?|tabs?|thms?"
    r"|vols?)\.$",
    re.IGNORECASE,
)
"""Ends of what is no sentence if a number follows."""
_NUMBER = re.compile(r"[(\[]?(?:\d|[A-Z]\.?\d)")
_CLOSED = re.compile(r"[.!?:;…]['\"”’»)\]}]*$")
_SPACES = re.compile(r"\s+")
_INNER = re.compile(r" (?=[)\]])")


def split_sentences(texts: Iterable[str]) -> list[list[str]]:
    """The sentences of each text, in order; none of a text without a character to read.

    Spaces are single, with none before a closing bracket: ``( as in TARGETCIT ).`` would be no end of a sentence.
    All other characters of a text come back.
    """
    return [_sentences(text) for text in texts]


def _sentences(text: str) -> list[str]:
    text = _INNER.sub("", _SPACES.sub(" ", text)).strip()
    if not text:
        return []
    tokenizer, segment = _syntok()
    found: list[str] = []
    start = 0
    for sentence in segment(tokenizer.tokenize(text)):
        end = sentence[-1].offset + len(sentence[-1].value)
        piece = text[start:end].strip()
        start = end
        if not piece:
            continue
        if found and not _ends(found[-1], piece):
            found[-1] = f"{found[-1]} {piece}"
        else:
            found.append(piece)
    if rest := text[start:].strip():
        found = [*found[:-1], f"{found[-1]} {rest}"] if found else [rest]
    return found


def _ends(sentence: str, following: str) -> bool:
    """Whether a sentence ends where syntok says so."""
    if _OPEN.search(sentence) or not _CLOSED.search(sentence):
        return False
    return not (_NAMED.search(sentence) and _NUMBER.match(following))


@cache
def _syntok() -> tuple[Any, Any]:
    """Its tokenizer, which keeps no state, and the function that puts tokens into sentences."""
    from syntok.segmenter import segment
    from syntok.tokenizer import Tokenizer

    return Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False), segment
