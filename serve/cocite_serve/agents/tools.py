"""The tools' work, over a recommender in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cocite.corpus import bibtex
from cocite.corpus.records import PaperRecord
from cocite.drafts.gaps import GAP
from cocite.drafts.reading import read_text
from cocite.drafts.reference_styles import ReferenceStyle
from cocite.drafts.suggestions import Suggestion, suggestions
from cocite.errors import InputError
from cocite.pipeline.options import Options, Recommendation
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite.systems.citing_sentences.classifier import CitingSentenceClassifier
from cocite_serve.agents.answers import (
    Bibliography,
    CitationKey,
    Explanation,
    FilledGap,
    FilledGaps,
    Paper,
    RankedPaper,
    Recommended,
    SuggestedSentence,
)
from cocite_serve.agents.arguments import (
    MAX_GAPS,
    BibtexArguments,
    ExplainArguments,
    FillGapsArguments,
    ManuscriptArguments,
    RecommendArguments,
)
from cocite_serve.http.manuscript import NO_TEXT, Manuscript, parse_manuscript
from cocite_serve.http.papers import Papers
from cocite_serve.http.pasted_text import form_of
from cocite_serve.http.request_seeds import NO_SEEDS, Seeds, find_seeds, has_text
from cocite_serve.http.schemas import EvidenceOut, SuggestionQuality

DEPTH = 300
"""Candidates that are put in order for each query."""
RERANK = 30
"""The best of those, which the cross-encoder reads, where the model has one; as at the endpoint."""


class Tools:
    """Answers calls one after the other; a recommender is used by one thread at a time.

    Args:
        recommender: over the index that is asked.
        classifier: of sentences that need a citation; None: the model has none.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> tools = Tools(Recommender.over(None, index))
        >>> asked = RecommendArguments(title="Attention-based machine translation", year=2015, top_k=1)
        >>> [paper.title for paper in tools.recommend(asked).papers]
        ['Neural Machine Translation by Jointly Learning to Align and Translate']
    """

    def __init__(self, recommender: Recommender, classifier: CitingSentenceClassifier | None = None) -> None:
        self._classifier = classifier
        index = recommender.index
        self._recommender, self._papers = recommender, Papers(index.corpus, index.alive)
        self._versions = {"model_version": recommender.model_version, "index_version": index.version}

    @property
    def description(self) -> str:
        """What is asked, in a sentence for the agent."""
        years = self._papers.years
        return f"{len(self._papers):,} papers" + (f" of {years[0]} to {years[1]}" if years else "")

    def recommend(self, asked: RecommendArguments) -> Recommended:
        """The papers to cite in a manuscript, or at one gap of it.

        Raises:
            InputError: there is nothing to search with, or no such gap, or the years exclude every paper, or the index
                lacks a paper that is liked or disliked.
        """
        by_text = has_text(asked, asked.title, asked.abstract, asked.text)
        manuscript = _manuscript(asked, asked.gap) if by_text else NO_TEXT
        options, unknown = self._options(asked.top_k, asked.exclude)
        options = replace(options, year_from=asked.year_from, year_to=asked.year_to)
        found = self._recommender.recommend(
            _query(manuscript, asked, find_seeds(asked, self._papers)), options
        )
        return Recommended(
            read_as=manuscript.read_as,
            context=manuscript.context,
            gaps=manuscript.gaps,
            note=found.note,
            unlike_corpus=found.unlike_corpus,
            papers=self._ranked(found, abstracts=asked.abstracts),
            unknown=unknown,
            **self._versions,
        )

    def count_gaps(self, asked: FillGapsArguments) -> int:
        """How many gaps a draft has.

        Raises:
            InputError: none, unless sentences are suggested, or more than are filled at a time.
        """
        gaps = len(GAP.findall(asked.text))
        if not (gaps or asked.suggest):
            raise InputError("it holds no [CIT]", where="text", hint="mark each missing citation with [CIT]")
        if gaps > MAX_GAPS:
            raise InputError(
                f"it holds {gaps:,} [CIT], and {MAX_GAPS} are filled at a time",
                where="text",
                hint="send one section after the other",
            )
        return gaps

    def fill_gap(self, asked: FillGapsArguments, gap: int) -> FilledGap:
        """The papers for one gap of a draft, by its number from 0.

        Raises:
            InputError: the index lacks a paper that is liked or disliked, or one is both.
        """
        manuscript = _manuscript(asked, gap)
        options, _ = self._options(asked.top_k, asked.exclude)
        found = self._recommender.recommend(
            _query(manuscript, asked, find_seeds(asked, self._papers)), options
        )
        return FilledGap(
            gap=gap,
            context=manuscript.context,
            note=found.note,
            unlike_corpus=found.unlike_corpus,
            papers=self._ranked(found),
        )

    def sentences(self, asked: FillGapsArguments) -> list[Suggestion]:
        """The sentences of a draft that seem to need a citation, as many as are asked for at most.

        Raises:
            InputError: the model does not know them, or the draft cannot be read.
        """
        if not asked.suggest:
            return []
        if self._classifier is None:
            raise InputError(
                "the model does not know which sentences need a citation: it has no citing-sentences",
                where="suggest",
            )
        return suggestions(read_text(asked.text, form_of(asked.text)), self._classifier, asked.suggest)

    def fill_sentence(self, asked: FillGapsArguments, suggested: Suggestion) -> SuggestedSentence:
        """The papers for a sentence that seems to need a citation.

        Raises:
            InputError: as of :meth:`fill_gap`.
        """
        manuscript = replace(_manuscript(asked, 0), context=suggested.gap.context)
        options, _ = self._options(asked.top_k, asked.exclude)
        found = self._recommender.recommend(
            _query(manuscript, asked, find_seeds(asked, self._papers)), options
        )
        return SuggestedSentence(
            sentence=suggested.gap.sentence,
            line=suggested.gap.place.line,
            probability=suggested.probability,
            context=manuscript.context,
            note=found.note,
            unlike_corpus=found.unlike_corpus,
            papers=self._ranked(found),
        )

    def gather(
        self,
        asked: FillGapsArguments,
        gaps: Sequence[FilledGap],
        suggested: Sequence[SuggestedSentence] = (),
    ) -> FilledGaps:
        """The answer about a draft whose gaps are filled."""
        unknown = self._options(1, asked.exclude)[1]
        quality = self._classifier.quality if self._classifier is not None and asked.suggest else None
        return FilledGaps(
            gaps=list(gaps),
            suggestions=list(suggested),
            suggestion_quality=quality and SuggestionQuality.model_validate(quality),
            unknown=unknown,
            **self._versions,
        )

    def explain(self, asked: ExplainArguments) -> Explanation:
        """What speaks for citing a paper in a manuscript, or at one gap of it, and where it stands in the list.

        Raises:
            InputError: there is nothing to search with, or no such gap.
            NotFoundError: the index has no such paper.
        """
        [record] = self._papers.records([asked.id])
        row = int(self._papers.rows([asked.id])[0])
        query = _query(_manuscript(asked, asked.gap), asked)
        options, _ = self._options(DEPTH, [])
        ranked = self._recommender.recommend(query, replace(options, evidence=False))
        # Whatever the order, the reasons are asked for this paper alone, be it in the list or not.
        alone = Options(top_k=1, depth=DEPTH, rerank=0, only=(row,), candidates="all")
        reasons = self._recommender.recommend(query, alone)
        evidence = EvidenceOut.model_validate(reasons[0].evidence, from_attributes=True) if reasons else None
        return Explanation(
            paper=Paper(**_fields(record, self._papers.in_citations([row])[0])),
            rank=next((place for place, paper in enumerate(ranked, 1) if paper.row == row), None),
            of=len(ranked),
            later=bool(asked.year and record.year > asked.year),
            evidence=evidence or EvidenceOut(),
            **self._versions,
        )

    def get_bibtex(self, asked: BibtexArguments) -> Bibliography:
        """Papers as BibTeX, each once, with keys that differ, and differ from those that are taken.

        Raises:
            NotFoundError: the index lacks one of them.
        """
        ids = list(dict.fromkeys(asked.ids))
        records = self._papers.records(ids)
        keys = bibtex.citation_keys(records, asked.taken, asked.cite_keys)
        made = [] if asked.style is None else ReferenceStyle.named(asked.style).references(records)
        return Bibliography(
            bibtex=bibtex.entries(records, keys),
            keys=[CitationKey(id=id_, key=key) for id_, key in zip(ids, keys, strict=True)],
            formatted=[reference.text for reference in made],
        )

    def _options(self, top_k: int, exclude: Sequence[str]) -> tuple[Options, list[str]]:
        """The options of a query, and the ids to exclude that are unknown."""
        rows = self._papers.named(exclude)
        known = tuple(int(row) for row in rows if row >= 0)
        unknown = [id_ for id_, row in zip(exclude, rows, strict=True) if row < 0]
        return Options(top_k=top_k, depth=DEPTH, rerank=RERANK, exclude=known), unknown

    def _ranked(self, papers: Sequence[Recommendation], *, abstracts: bool = False) -> list[RankedPaper]:
        counts = self._papers.in_citations([paper.row for paper in papers])
        return [
            _ranked_paper(rank, paper, count, abstracts)
            for rank, (paper, count) in enumerate(zip(papers, counts, strict=True), 1)
        ]


def _manuscript(asked: ManuscriptArguments, gap: int) -> Manuscript:
    return parse_manuscript(title=asked.title, abstract=asked.abstract, text=asked.text, gap=gap)


def _query(manuscript: Manuscript, asked: ManuscriptArguments, seeds: Seeds = NO_SEEDS) -> Query:
    return Query(
        id="call",
        context=manuscript.context,
        title=manuscript.title,
        abstract=manuscript.abstract,
        year=asked.year,
        like=seeds.like,
        dislike=seeds.dislike,
    )


def _ranked_paper(rank: int, paper: Recommendation, in_citations: int, abstracts: bool) -> RankedPaper:
    return RankedPaper(
        **_fields(paper, in_citations),
        rank=rank,
        score=float(paper.score),
        confidence=paper.confidence,
        evidence=EvidenceOut.model_validate(paper.evidence, from_attributes=True),
        abstract=paper.abstract if abstracts else None,
    )


def _fields(paper: PaperRecord | Recommendation, in_citations: int) -> dict[str, Any]:
    """The fields of :class:`~cocite_serve.agents.answers.Paper`."""
    return {
        "id": paper.id,
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year or None,
        "venue": paper.venue,
        "doi": paper.doi,
        "in_citations": in_citations,
    }
