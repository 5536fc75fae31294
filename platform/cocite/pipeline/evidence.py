"""The reasons for a recommendation: shared words, citing papers, citing sentences, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MAX_AUTHORS = 3
"""Authors of a citing paper that evidence names: enough to know one, two, or "et al."."""


class SharedWord(NamedTuple):
    """A word that query and paper share.

    Example:
        >>> max([SharedWord("parsing", 4.2), SharedWord("model", 0.7)], key=lambda shared: shared.weight).word
        'parsing'
    """

    word: str
    weight: float
    """BM25 weight: rare words weigh more."""


class CitingPaper(NamedTuple):
    """A paper of the corpus that cites the recommended one, or a seed that is linked with it.

    Example:
        >>> CitingPaper("P18-1001", "A survey of parsing", 2018, ("Ada Lee",)).authors
        ('Ada Lee',)
    """

    id: str
    title: str
    year: int | None
    """Year of publication; None: unknown."""
    authors: tuple[str, ...] = ()
    """The first ``MAX_AUTHORS``."""
    venue: str = ""
    doi: str = ""


class CitingSentence(NamedTuple):
    """A sentence that cites the recommended paper, and the paper that contains it.

    Example:
        >>> quote = CitingSentence("Attention (TARGETCIT) helps.", *CitingPaper("P18-1001", "A survey", 2018))
        >>> quote.id
        'P18-1001'
    """

    sentence: str
    id: str
    title: str
    year: int | None
    """Year of publication; None: unknown."""
    authors: tuple[str, ...] = ()
    """The first ``MAX_AUTHORS`` of the paper."""
    venue: str = ""
    doi: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The reasons for a recommendation, in terms that an author can check; the endpoint answers with the same fields.

    Example:
        >>> reasons = Evidence(shared_words=(SharedWord("parsing", 4.2), SharedWord("tree", 2.5)))
        >>> [word for word, _ in reasons.shared_words], reasons.cited_by
        (['parsing', 'tree'], ())
    """

    shared_words: tuple[SharedWord, ...] = ()
    """Words that query and paper share, heaviest first."""
    cited_by: tuple[CitingPaper, ...] = ()
    """The query's neighbours that cite the paper, nearest first."""
    sentences: tuple[CitingSentence, ...] = ()
    """Contexts of earlier papers that resemble the query's and cite the paper, nearest first."""
    seeds: tuple[CitingPaper, ...] = ()
    """Liked papers that cite the paper, that it cites, or that are cited together with it; most links first."""
