"""The words and names of which Better BibTeX for Zotero makes citation keys, in ASCII.

Source: https://retorque.re/zotero-better-bibtex/citing/ and its default preferences. Better BibTeX transliterates words
of other scripts by their language, which a corpus does not know: here they are left out.
"""

from __future__ import annotations

import re
import unicodedata

from cocite.corpus.names import split_name

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


def title_words(title: str) -> list[str]:
    """The words of a title that are not skipped, each of letters and digits.

    Example:
        >>> title_words("BERT: Pre-training of Deep Transformers")
        ['BERT', 'Pretraining', 'Deep', 'Transformers']
    """
    # A hyphen joins: Pre-training is one word.
    words = (re.sub(r"[^A-Za-z0-9]", "", folded(word)) for word in _BETWEEN.split(_MARKUP.sub("", title)))
    return [word for word in words if word and not is_skipped(word)]


def is_skipped(word: str) -> bool:
    """Whether a word counts for nothing in a title, whatever its capitals.

    Example:
        >>> is_skipped("The"), is_skipped("Trees")
        (True, False)
    """
    return word.lower() in _SKIPPED


def family_name(author: str) -> str:
    """A family name with its particle, or the whole name of an organisation: letters, digits, hyphens and spaces.

    Example:
        >>> family_name("Laurens van der Maaten"), family_name("Ann O'Connor")
        ('van der Maaten', 'OConnor')
    """
    spaced = " ".join(author.split())
    name = split_name(spaced)
    family = spaced if name is None else f"{name.particle} {name.family}"
    return " ".join(re.sub(r"[^A-Za-z0-9\s-]", "", folded(family)).split())


def folded(text: str) -> str:
    """A text in ASCII: letters without their accents, and nothing for those of other scripts.

    Example:
        >>> folded("Weiß-Øre")
        'Weiss-Ore'
    """
    return unicodedata.normalize("NFKD", text.translate(_LETTERS)).encode("ascii", "ignore").decode()
