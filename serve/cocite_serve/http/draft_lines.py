"""The lines by which a draft is answered: one about it, one for each gap or sentence that is done, and a last one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, nullcontext
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel

from cocite.corpus.records import PaperRecord
from cocite.drafts.advice import NO_PAPERS, NO_WORDS
from cocite.drafts.cite_keys import CiteKeys
from cocite.drafts.completion import GapPaper
from cocite.drafts.draft import Gap
from cocite.text.gap_context import whole_words
from cocite_serve.http.batch import AnswerLines
from cocite_serve.http.conversion import Stamps
from cocite_serve.http.draft_reading import (
    DraftReader,
    FoundDraft,
    cited_out,
    missing_warnings,
    together_out,
)
from cocite_serve.http.draft_schemas import (
    DraftEnd,
    DraftHead,
    DraftRequest,
    Finished,
    GapLine,
    PapersLine,
    SuggestionLine,
)
from cocite_serve.http.library_marks import LibraryMarks
from cocite_serve.http.manuscript import Manuscript
from cocite_serve.http.option_fields import RecommendOptions
from cocite_serve.http.papers import Papers
from cocite_serve.http.recommending import recommend_for, versions_of
from cocite_serve.http.request_context import current
from cocite_serve.http.schemas import Problem, RecommendRequest, RecommendResponse, SuggestionQuality
from cocite_serve.http.service import Service


class DraftLines(AnswerLines):
    """Answers the gaps of a draft, several at a time.

    Args:
        app, request: as of :class:`~cocite_serve.http.batch.AnswerLines`.
        service: answers a gap as it answers a request.
        asked: the options.
        found: the draft.
        reader: finishes it, where that is asked for.

    Example:
        The path makes one for each draft; see :func:`cocite_serve.http.draft_paths.draft_router`:

        >>> issubclass(DraftLines, AnswerLines)
        True
    """

    def __init__(
        self,
        app: FastAPI,
        request: Request,
        service: Service,
        asked: DraftRequest,
        found: FoundDraft,
        reader: DraftReader,
    ) -> None:
        limits = service.settings.limits
        super().__init__(app, request, limits.batch_at_once)
        self._service, self._found = service, found
        self._keys = CiteKeys(found.own_keys, found.taken, asked.cite_keys)
        self._counts = {"answered": 0, "empty": 0, "refused": 0}
        self._title = found.draft.title[: limits.title_chars]
        self._abstract = whole_words(found.draft.abstract, limits.abstract_chars)
        options = asked.model_dump(include={*RecommendOptions.model_fields} - {"K"})
        if asked.like_cited:
            others = [id_ for id_ in found.cited_ids if id_ not in {*asked.like, *asked.dislike}]
            options["like"] = [*asked.like, *others][: limits.seeds]
        self._reader, self._marks = reader, LibraryMarks(asked.have)
        # The files of others are not held.
        self._sent = (asked.files, asked.main) if asked.finished else None
        self._style = asked.style
        self._best: dict[int, tuple[PaperRecord, str]] = {}
        self._request_of_gaps = RecommendRequest(
            **options,
            year=found.year,
            authors=asked.authors or list(found.draft.authors[: limits.exclude]),
            venue=asked.venue,
        )

    async def all(self, stamps: Stamps) -> AsyncIterator[bytes]:
        """All lines.

        Args:
            stamps: the release in whose index the draft's citations were found.
        """
        found, draft = self._found, self._found.draft
        yield _line(
            DraftHead(
                file=draft.file,
                form=draft.kind,
                title=draft.title,
                authors=self._request_of_gaps.authors,
                year=found.year,
                gaps=len(draft.gaps),
                suggestions=len(found.suggested),
                suggestion_quality=found.quality and SuggestionQuality.model_validate(found.quality),
                cited=cited_out(found.cited),
                warnings=[*draft.warnings, *missing_warnings(found.missing)],
                request_id=current().id,
                **versions_of(stamps),
            )
        )
        values: list[Gap | tuple[Gap, float]] = [*draft.gaps, *found.suggested]
        with self._reader.holding() if self._sent else nullcontext():
            async with aclosing(self.lines(values)) as lines:
                async for line in lines:
                    yield line
            finished, problem = await self._finished(stamps.papers)
        yield _line(
            DraftEnd(
                usually_cited_together=self._marks.on(together_out(found.companions, stamps.papers)),
                finished=finished,
                problem=problem,
                **self._counts,
            )
        )

    async def line(self, index: int, value: Any) -> bytes:
        """The line of one gap, or of a sentence that seems to need a citation."""
        gaps = len(self._found.draft.gaps)
        gap: Gap
        told: dict[str, Any]
        of: type[PapersLine]
        if isinstance(value, Gap):
            gap, of, told = value, GapLine, {"gap": index + 1}
        else:
            gap, probability = value
            of, told = SuggestionLine, {"suggestion": index - gaps + 1, "probability": probability}
        told |= {"file": gap.place.file, "line": gap.place.line, "sentence": gap.sentence}
        if not gap.has_words:
            self._counts["empty"] += 1
            return _line(of(**told, note=NO_WORDS, status=200))
        try:
            answer = await self._answer(index if of is GapLine else None, gap)
        except Exception as error:
            status, after, problem = await self.refusal(error)
            self._counts["refused"] += 1
            refused = Problem.model_validate_json(problem)
            return _line(of(**told, status=status, problem=refused, retry_after=after))
        self._counts["answered" if answer.papers else "empty"] += 1
        papers = [
            PaperRecord(
                paper.id,
                paper.title,
                year=paper.year or 0,
                venue=paper.venue,
                authors=tuple(paper.authors),
                doi=paper.doi,
            )
            for paper in answer.papers
        ]
        note = answer.note if papers else NO_PAPERS
        keys = self._keys.of(papers)
        if papers and of is GapLine:
            self._best[index + 1] = (papers[0], keys[0])
        return _line(of(**told, note=note, status=200, answer=answer, cite=keys))

    async def _finished(self, corpus: Papers) -> tuple[Finished | None, Problem | None]:
        """The draft with the best papers in its gaps, or why there is none; neither where nobody asked for it."""
        if self._sent is None:
            return None, None
        rows = corpus.rows([paper.id for paper, _ in self._best.values()])
        # Another release's paper may be unknown to this one's corpus.
        whole = {paper.id: paper for paper in corpus.corpus.papers_at(rows[rows >= 0])}
        papers = {
            number: [GapPaper(whole.get(paper.id, paper), key, paper.id not in self._found.own_keys)]
            for number, (paper, key) in sorted(self._best.items())
        }
        try:
            return await self._reader.finish(*self._sent, papers, self._style), None
        except Exception as error:
            _, _, problem = await self.refusal(error)
            return None, Problem.model_validate_json(problem)
        finally:
            self._sent = None

    async def _answer(self, index: int | None, gap: Gap) -> RecommendResponse:
        manuscript = Manuscript(
            self._title, self._abstract, gap.context, gap=index, gaps=len(self._found.draft.gaps)
        )
        answer = await recommend_for(self._service, self._request_of_gaps, manuscript, self._found.cited_ids)
        answer.papers = self._marks.on(answer.papers)
        answer.next = None  # the request that a page continues is not one that the client has
        return answer


def _line(value: BaseModel) -> bytes:
    return value.model_dump_json().encode() + b"\n"
