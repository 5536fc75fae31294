"""What a draft is told: papers for each gap, what it cites already, and what is usually cited with that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.draft import Draft, Gap
from cocite.drafts.reference_list import with_references
from cocite.drafts.together import LinkedPapers, cited_together
from cocite.pipeline.options import Options, Recommendation

if TYPE_CHECKING:
    from cocite.pipeline.recommender import Recommender  # loads models, which a gateway never does

NO_BIBLIOGRAPHY = Bibliography({}, {})
"""Of a draft without .bib files."""
NO_WORDS = "there are no words around the gap to search with"
NO_PAPERS = "no paper of the index fits"
_BATCH = 16
"""Gaps answered at a time; bounds the memory, and lets the first answers come early."""


@dataclass(frozen=True, slots=True)
class GapAdvice:
    """The papers for one gap, best first.

    Attributes:
        number: of the gap, from 1.
        papers: empty where nothing can be recommended.
        note: a sentence that says why nothing was, that the text is unlike the papers of the corpus, or that none of
            them is probable; "" otherwise.
        unlike_corpus: whether the text is unlike the papers of the corpus.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> [gap] = read_text("Attention helps [CIT].", "text").gaps
        >>> GapAdvice(1, gap, ()).papers
        ()
    """

    number: int
    gap: Gap
    papers: tuple[Recommendation, ...]
    note: str = ""
    unlike_corpus: bool = False


@dataclass(frozen=True, slots=True)
class CitedPaper:
    """A key that the draft cites, and the corpus' paper, if it holds it.

    Example:
        >>> CitedPaper("lee99", None, "").in_bibliography
        False
    """

    key: str
    paper: PaperRecord | None
    title: str

    @property
    def in_bibliography(self) -> bool:
        """Whether the .bib file has the key; only then is its title known."""
        return bool(self.title)


@dataclass(frozen=True, slots=True)
class Companion:
    """A paper that is usually cited together with what the draft cites.

    Example:
        >>> Companion(PaperRecord("W2", "Attention"), papers=12).papers
        12
    """

    paper: PaperRecord
    papers: int
    """How many papers cite it and at least one paper that the draft cites."""


class Adviser:
    """Answers one draft.

    Args:
        recommender: finds the papers.
        draft: the draft.
        bibliography: its entries, found in the recommender's corpus.
        year: of the draft, in place of its own.
        authors: likewise, as the corpus writes names.
        like: rows of papers whose like is wanted.
        dislike: rows of papers whose like is not wanted.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.drafts.reading import read_text
        >>> from cocite.pipeline.recommender import Recommender
        >>> from cocite.retrieval.index.index import Index
        >>> recommender = Recommender.over(None, Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> draft = read_text("Translations are compared with references by BLEU [CIT].", "text")
        >>> [answer] = Adviser(recommender, draft).gaps(Options(top_k=1))
        >>> answer.papers[0].title
        'BLEU: a Method for Automatic Evaluation of Machine Translation'
    """

    def __init__(
        self,
        recommender: Recommender,
        draft: Draft,
        bibliography: Bibliography = NO_BIBLIOGRAPHY,
        *,
        year: int | None = None,
        authors: Sequence[str] = (),
        like: Sequence[int] = (),
        dislike: Sequence[int] = (),
    ) -> None:
        draft, bibliography = with_references(draft, bibliography, recommender.index.corpus)
        self.recommender, self.draft, self.bibliography = recommender, draft, bibliography
        self.year = year or draft.year
        self.authors = tuple(authors) or draft.authors
        self.like, self.dislike = tuple(like), tuple(dislike)
        self.cited_rows = bibliography.cited_rows(draft)

    def cited(self) -> list[CitedPaper]:
        """Every key that the draft cites, in the order of its text."""
        return cited_papers(self.draft, self.bibliography, self.recommender.index.corpus)

    def gaps(self, options: Options) -> Iterator[GapAdvice]:
        """The papers for each gap, in the order of the text; what is cited already is never among them."""
        rows = tuple({*options.exclude, *self.cited_rows.values()})
        options = replace(options, exclude=rows)
        numbered = list(enumerate(self.draft.gaps, 1))
        for first in range(0, len(numbered), _BATCH):
            yield from self._batch(numbered[first : first + _BATCH], options)

    def _batch(self, numbered: Sequence[tuple[int, Gap]], options: Options) -> Iterator[GapAdvice]:
        draft = self.draft
        queries = {
            number: replace(
                self.recommender.query(
                    id=f"gap-{number}",
                    title=draft.title,
                    abstract=draft.abstract,
                    context=gap.context,
                    year=self.year,
                    authors=self.authors,
                ),
                like=self.like,
                dislike=self.dislike,
            )
            for number, gap in numbered
            if gap.has_words
        }
        found = self.recommender.recommend_all(list(queries.values()), options) if queries else []
        answers = dict(zip(queries, found, strict=True))
        for number, gap in numbered:
            if number not in answers:
                yield GapAdvice(number, gap, (), NO_WORDS)
            else:
                papers = answers[number]
                note = papers.note if papers else NO_PAPERS
                yield GapAdvice(number, gap, tuple(papers), note, papers.unlike_corpus)

    def companions(self, k: int) -> list[Companion]:
        """What papers that cite what the draft cites also cite, and it lacks."""
        return companions(self.recommender.index, list(self.cited_rows.values()), k, self.year)


def cited_papers(draft: Draft, bibliography: Bibliography, corpus: Corpus) -> list[CitedPaper]:
    """Every key that a draft cites, in the order of its text, and the corpus' paper."""
    rows, entries = bibliography.cited_rows(draft), bibliography.entries
    papers = dict(zip(rows, corpus.papers_at(list(rows.values())), strict=True))
    keys = dict.fromkeys(citation.key for citation in draft.citations)
    return [CitedPaper(key, papers.get(key), entries[key].title if key in entries else "") for key in keys]


def companions(papers: LinkedPapers, rows: Sequence[int], k: int, year: int | None) -> list[Companion]:
    """What papers that cite the papers of some rows also cite: at most ``k``, none later than the year."""
    found = cited_together(papers, rows, k=k, year=year)
    records = papers.corpus.papers_at([one.row for one in found])
    return [Companion(paper, one.papers) for paper, one in zip(records, found, strict=True)]
