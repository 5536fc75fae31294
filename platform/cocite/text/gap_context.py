"""The context of a gap: the words around it that a query and the contexts of a corpus have alike."""

from __future__ import annotations

import re

from cocite.corpus.records import OTHER_MARK, TARGET_MARK

WINDOW = 200
"""Characters kept each side of a gap, as many as in the contexts that models learn from."""


def context_of_gap(before: str, after: str, *, neighbour: str = OTHER_MARK) -> str:
    """The text around a gap, cut as the contexts of a corpus are.

    Args:
        before: the text before the gap.
        after: the text behind it.
        neighbour: what stands for another gap in both. Another sentence with a gap of its own is about other papers,
            so the context ends before it.

    Returns:
        The context, with the gap as ``TARGETCIT`` and other gaps as ``OTHERCIT``.

    Example:
        >>> context_of_gap("We parse [?]. Quality is measured by BLEU", ".", neighbour="[?]")
        'Quality is measured by BLEU TARGETCIT.'
    """
    before, after = " ".join(before.split()), " ".join(after.split())
    sentence_end = re.compile(rf"[.?!]\s+(?=[A-Z\"'(]|{re.escape(neighbour)})")
    ends = [match.end() for match in sentence_end.finditer(before)]
    others = before.rfind(neighbour, 0, ends[-1]) if ends else -1
    if others >= 0:
        before = before[next(end for end in ends if end > others) :]
    ends = [match.start() + 1 for match in sentence_end.finditer(after)]
    others = after.find(neighbour, ends[0]) if ends else -1
    if others >= 0:
        after = after[: max(end for end in ends if end <= others)]
    if len(before) > WINDOW:
        # The cut may go through a word, which is left out.
        before = before[-WINDOW:].partition(" ")[2]
    after = whole_words(after, WINDOW)
    space = "" if after[:1] in {*".,;:?!)"} else " "
    return f"{before} {TARGET_MARK}{space}{after}".replace(neighbour, OTHER_MARK).strip()


def whole_words(text: str, chars: int) -> str:
    """At most ``chars`` characters, whole words.

    Example:
        >>> whole_words("neural machine translation", 16)
        'neural machine'
    """
    text = text.strip()
    return text if len(text) <= chars else text[:chars].rpartition(" ")[0]
