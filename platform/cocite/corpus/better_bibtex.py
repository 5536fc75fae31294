"""Citation keys as Better BibTeX for Zotero makes them by default: ``auth.lower + shorttitle(3,3) + year``.

Source: https://retorque.re/zotero-better-bibtex/citing/ and its default preferences. Better BibTeX transliterates words
of other scripts by their language, which a corpus does not know: here they are left out.
"""

from __future__ import annotations

import re
import unicodedata

from cocite.corpus.names import split_name
from cocite.corpus.records import PaperRecord

WORDS = 3
"""Words of the title."""
_SKIPPED = set(
    """
    a ab aboard about above across after against al along amid among an and anti around as at before behind below
    beneath beside besides between beyond but by d da das de del dell dello dei degli della delle dem den der des
    despite die do down du during ein eine einem einen einer eines el en et except for from gli i il in inside into is l
    la las le les like lo los near nor of off on onto or over past per plus round save since so some sur than the
    through to toward towards un una unas under underneath une unlike uno unos until up upon versus via von while with
    within without yet zu zum
    """.split()
)
"""Words that count for nothing in a title: the default of ``skipWords``."""
_BETWEEN = re.compile(r"[\s/:–—]+")
_MARKUP = re.compile(r"</?[a-z]+[^<>]*>")
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D"}
    | {"ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ł": "l", "Ł": "L", "ı": "i"}
)
"""Letters that have no accent to take off."""


def better_bibtex_key(paper: PaperRecord) -> str:
    """Family name of the first author, the title's first three words that are not skipped, and the year, in ASCII.

    Example:
        >>> authors = ("Ashish Vaswani", "Noam Shazeer")
        >>> better_bibtex_key(PaperRecord("a", "Attention Is All You Need", year=2017, authors=authors))
        'vaswaniAttentionAllYou2017'
    """
    words = []
    for word in _BETWEEN.split(_MARKUP.sub("", paper.title)):
        # A hyphen joins: Pre-training is one word.
        plain = re.sub(r"[^A-Za-z0-9]", "", _ascii(word))
        if plain and plain.lower() not in _SKIPPED:
            words.append(plain[0].upper() + plain[1:])
        if len(words) == WORDS:
            break
    name = re.sub(r"[^a-z0-9-]", "", _ascii(_family(paper.authors[0])).lower()) if paper.authors else ""
    return f"{name}{''.join(words)}{paper.year or ''}" or "anon"


def _family(author: str) -> str:
    """A family name with its particle, or the whole name of an organisation."""
    spaced = " ".join(author.split())
    name = split_name(spaced)
    return spaced if name is None else f"{name.particle} {name.family}"


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text.translate(_LETTERS)).encode("ascii", "ignore").decode()
