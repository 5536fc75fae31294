"""What retrievers of other frameworks share: one text as a query, and a recommended paper as text and metadata."""

from __future__ import annotations

from typing import Any

from cocite.errors import InputError
from cocite.pipeline.options import Recommendation
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite.text.gaps import has_gap

MAX_CHARACTERS = 100_000
"""Characters of the longest query."""


def query_of(
    recommender: Recommender,
    text: str,
    *,
    year: int | None = None,
    paper: str | None = None,
    id_: str = "query",
) -> Query:
    """The query of one text. A text with ``[CIT]`` in it is a gap.

    Of another text the first line is the title of a manuscript, and the further lines its abstract.

    Args:
        recommender: whose query it becomes.
        text: of the author.
        year: of the manuscript; None: unknown.
        paper: id of the manuscript, if it is in the corpus.
        id_: name of the query in a run.

    Raises:
        InputError: the text is empty, or longer than ``MAX_CHARACTERS``.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> recommender = Recommender.over(None, Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> query = query_of(recommender, "Machine translation\\nWe translate.")
        >>> query.title, query.abstract
        ('Machine translation', 'We translate.')
        >>> query_of(recommender, "as in [CIT]").is_local
        True
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"the query has more than {MAX_CHARACTERS:,} characters", hint="send a passage")
    if has_gap(text):
        return recommender.query(context=text, year=year, paper=paper, id=id_)
    title, _, abstract = text.strip().partition("\n")
    return recommender.query(title=title, abstract=abstract.strip(), year=year, paper=paper, id=id_)


def paper_content(paper: Recommendation) -> str:
    """Title and abstract of a recommended paper, an empty line between them.

    Example:
        >>> from cocite.pipeline.evidence import Evidence
        >>> paper = Recommendation(7, "bleu", "BLEU", ("Ann Lee",), 2002, "ACL", "A metric.", "", 3.5, {}, Evidence())
        >>> paper_content(paper)
        'BLEU\\n\\nA metric.'
    """
    return "\n\n".join(filter(None, (paper.title, paper.abstract)))


def paper_metadata(paper: Recommendation, rank: int) -> dict[str, Any]:
    """What a document says of its paper: JSON values, so that a framework can store and send them.

    Args:
        paper: the paper.
        rank: its place in the answer, from 1.

    Returns:
        ``id``, ``title``, ``authors``, ``year`` (None: unknown), ``venue``, ``doi``, ``score``, ``confidence`` (None:
        not calibrated), ``rank``, ``sentences`` (how earlier papers cite it: ``text``, and ``id``, ``title`` and
        ``year`` of the citing paper), ``cited_by`` (ids) and ``shared_words``.
    """
    evidence = paper.evidence
    return {
        "id": paper.id,
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year or None,
        "venue": paper.venue,
        "doi": paper.doi,
        "score": float(paper.score),
        "confidence": paper.confidence,
        "rank": rank,
        "sentences": [
            {"text": quote.sentence, "id": quote.id, "title": quote.title, "year": quote.year}
            for quote in evidence.sentences
        ],
        "cited_by": [citing.id for citing in evidence.cited_by],
        "shared_words": [shared.word for shared in evidence.shared_words],
    }
