"""A sparse vector of each sentence: its words, its section, its place, and what stands around it."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from cocite.systems.citing_sentences.citations import HOLE, has_numbers, is_debris, remove_citations

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Group = Literal["words", "pieces", "section", "position", "surroundings", "neighbours", "novelty"]
"""What is read: ``words``: one to three words of the sentence; ``pieces``: three to five characters of each word;
``section``: the words of the section's heading; ``position``: place in the text and in the section, and the length;
``surroundings``: the words of the sentences before and after; ``neighbours``: whether those cite; ``novelty``: the
words, and pairs of words, that the text has for the first time, and how many of them are names."""
Features = Annotated[tuple[Group, ...], Field(min_length=1, max_length=7)]
_TOKEN = re.compile(r"[^\W\d_]+|\d[\d.,]*")
_CIRCUMSTANCE = 0.3
"""Weight of a feature that is no word of the sentence; the words of a sentence have the norm 1 together."""
_NOVELTY = 0.5
"""Weight of the words that are new in the text, which have the norm 1 together."""
_NAMES = 6
"""Most new names of a sentence that are counted."""
_BLOCK = 50_000


@dataclass(frozen=True, slots=True)
class TextSentence:
    """A sentence without its citations, and where it stands.

    Attributes:
        text: with :data:`~cocite.systems.citing_sentences.citations.HOLE` where citations stood.
        cites: whether it had one.
        section: heading of its section.
        number: which of the sentences given it is.

    Example:
        >>> sentences_of(["As [[CIT:0]] shows, we parse with many trees."], ["Models"])[0].cites
        True
    """

    text: str
    cites: bool
    section: str
    number: int


def sentences_of(texts: Sequence[str], sections: Sequence[str]) -> list[TextSentence]:
    """The sentences of one text in order, without their citations; debris is left out.

    Args:
        texts: the sentences, with marks where they cite.
        sections: the heading of the section of each.

    Example:
        >>> [one.number for one in sentences_of(["3 4 | 5", "We parse all of the treebank."], ["", ""])]
        [1]
    """
    numbers = has_numbers(list(texts))
    found = []
    for number, (text, section) in enumerate(zip(texts, sections, strict=True)):
        bare, cites = remove_citations(text, numbers=numbers)
        if not is_debris(bare):
            found.append(TextSentence(bare, cites, section, number))
    return found


def vectors(papers: Sequence[Sequence[TextSentence]], groups: Sequence[Group], width: int) -> csr_matrix:
    """(S, width) float32 vectors of the sentences of some texts, one text behind the other.

    Where no sentence of a text cites, ``neighbours`` gives nothing: the author may not have begun to cite.

    Args:
        papers: the sentences of each text, in order.
        groups: what is read.
        width: numbers that the features are hashed to.

    Example:
        >>> [sentence] = sentences_of(["We parse all of the treebank."], ["Data"])
        >>> vectors([[sentence]], ["words"], 1024).shape
        (1, 1024)
    """
    from scipy.sparse import csr_matrix, vstack
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.preprocessing import normalize

    hasher = FeatureHasher(width, input_type="string", dtype=np.float32, alternate_sign=False)

    def of(features: list[list[str]]) -> Any:
        hashed = hasher.transform(features)
        hashed.data[:] = 1.0
        return hashed

    rows: list[csr_matrix] = [csr_matrix((0, width), dtype=np.float32)]
    inner: list[list[str]] = []
    outer: list[list[str]] = []
    new: list[list[str]] = []

    def block() -> Any:
        made = normalize(of(inner), copy=False) + _CIRCUMSTANCE * of(outer)
        return made + _NOVELTY * normalize(of(new), copy=False) if "novelty" in groups else made

    for paper in papers:
        known: set[str] = set()
        every, citing = (
            Counter(one.section for one in paper),
            Counter(one.section for one in paper if one.cites),
        )
        words = [_surrounding_words(sentence.text) if "surroundings" in groups else [] for sentence in paper]
        for at, sentence in enumerate(paper):
            pieces = [_tokens(piece) for piece in sentence.text.split(HOLE)]
            inner.append(list(_of_words(pieces, groups)))
            outer.append(list(_around(paper, at, groups)))
            new.append(_new_words(pieces, known) if "novelty" in groups else [])
            outer[-1] += [f"-1:{word}" for word in words[at - 1]] if at else []
            outer[-1] += [f"1:{word}" for word in words[at + 1]] if at + 1 < len(paper) else []
            if "neighbours" in groups and citing.total() > sentence.cites:
                outer[-1] += _neighbours(paper, at, every, citing)
        if len(inner) > _BLOCK:
            rows.append(block())
            inner, outer, new = [], [], []
    if inner:
        rows.append(block())
    return vstack(rows, format="csr", dtype=np.float32)


def _tokens(text: str) -> list[str]:
    # All numbers are one token: years would give a citation away that no rule has found.
    return ["0" if token[0].isdigit() else token for token in _TOKEN.findall(text)]


def _surrounding_words(text: str) -> list[str]:
    """The different words of a sentence that stands beside another, in the order of their first use."""
    return list(dict.fromkeys(token.lower() for token in _tokens(text)))


def _of_words(pieces: Sequence[Sequence[str]], groups: Sequence[Group]) -> Iterator[str]:
    """The features of a sentence's own words; no sequence of words goes across a hole, that is, out of a piece."""
    for tokens in pieces:
        lower = [token.lower() for token in tokens]
        if "words" in groups:
            yield from lower
            yield from map(" ".join, itertools.pairwise(lower))
            yield from map(" ".join, zip(lower, lower[1:], lower[2:], strict=False))
            yield from (f"^{token}" for token in tokens if token[0].isupper())
        if "pieces" in groups:
            for token in lower:
                word = f"<{token}>"
                for size in (3, 4, 5):
                    yield from (f"#{word[at : at + size]}" for at in range(len(word) - size + 1))


def _new_words(pieces: Sequence[Sequence[str]], known: set[str]) -> list[str]:
    """The features of what a text has for the first time in this sentence, which is known from then on.

    A work is cited where the text first names it, and hardly where it does so again.
    """
    words: dict[str, None] = {}  # in order
    names = 0
    for tokens in pieces:
        lower = [token.lower() for token in tokens]
        words |= dict.fromkeys((*lower, *map(" ".join, itertools.pairwise(lower))))
        # The first word of a sentence has a capital in any case, but no second one.
        names += sum(
            (at > 0 and token[0].isupper()) or sum(map(str.isupper, token)) > 1
            for at, token in enumerate(tokens)
            if token.lower() not in known
        )
    new = [f"new:{word}" for word in words if word not in known]
    known.update(words)
    return [*new, f"new-names={min(_NAMES, names)}"]


def _around(paper: Sequence[TextSentence], at: int, groups: Sequence[Group]) -> Iterator[str]:
    """The features of what stands around a sentence."""
    own = paper[at]
    if "section" in groups:
        words = [word.lower() for word in _tokens(own.section)]
        yield from (f"s:{word}" for word in words)
        yield f"s={' '.join(words)}"
    if "position" in groups:
        yield from _position(paper, at)


def _neighbours(
    paper: Sequence[TextSentence], at: int, every: Counter[str], citing: Counter[str]
) -> Iterator[str]:
    """The features of whether other sentences cite: the two on each side, and the share of those of the section."""
    own = paper[at]
    for step in (-2, -1, 1, 2):
        if 0 <= at + step < len(paper):
            yield f"cites{step}={paper[at + step].cites}"
    share = (citing[own.section] - own.cites) / max(1, every[own.section] - 1)
    yield f"cites-here={min(9, int(20 * share))}"


def _position(paper: Sequence[TextSentence], at: int) -> Iterator[str]:
    first = at
    while first and paper[first - 1].section == paper[at].section and at - first < 6:
        first -= 1
    # Doubling steps from the beginning, not a share of the length: a draft may be a part of a paper.
    yield f"p={at.bit_length()}"
    yield f"i={at - first}"
    yield f"n={min(20, len(paper[at].text.split()) // 4)}"
