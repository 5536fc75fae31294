"""Reads a draft that a client sent, and finds what it cites, beside the gateway's event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from cocite.drafts.advice import CitedPaper, Companion, cited_papers, companions
from cocite.drafts.completion import GapPaper
from cocite.drafts.draft import Draft, Gap
from cocite.drafts.draft_text import draft_text, place_in_text
from cocite.drafts.suggestions import has_classifier
from cocite.errors import InputError
from cocite.systems.citing_sentences.quality import Quality
from cocite_serve.http.draft_files import own_keys, read_files, with_cited
from cocite_serve.http.draft_finishing import NOT_WRITTEN, check_choices, chosen_draft, finished_draft
from cocite_serve.http.draft_schemas import (
    CitedOut,
    DraftFile,
    DraftFinishRequest,
    DraftRequest,
    Finished,
    TogetherOut,
)
from cocite_serve.http.draft_text_schemas import DraftText, DraftTextRequest, SuggestedSentence
from cocite_serve.http.papers import Papers
from cocite_serve.http.problems import OverloadedError, TooSlowError, check_options, check_values
from cocite_serve.http.request_seeds import await_seeds
from cocite_serve.http.schemas import SuggestionQuality
from cocite_serve.http.service import Service
from cocite_serve.settings import Limits

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class FoundDraft:
    """A draft, and what it cites.

    Attributes:
        draft: as it was read.
        year: its own, or that of the request.
        cited: every key.
        companions: papers usually cited together with those.
        own_keys: id of a paper -> its key in the draft's bibliography.
        taken: all keys of the draft and its bibliography.
        missing: bibliographies that were not sent.
        suggested: sentences that seem to need a citation, as gaps with their probabilities.
        quality: how often these are right, where that was measured.

    Example:
        >>> FoundDraft(Draft("text", "a.txt"), None, [], [], {}, frozenset(), ()).cited_ids
        ()
    """

    draft: Draft
    year: int | None
    cited: list[CitedPaper]
    companions: list[Companion]
    own_keys: dict[str, str]
    taken: frozenset[str]
    missing: tuple[str, ...]
    suggested: tuple[tuple[Gap, float], ...] = ()
    quality: Quality | None = None

    @property
    def cited_ids(self) -> tuple[str, ...]:
        """Ids of the corpus' papers that the draft cites."""
        return tuple(dict.fromkeys(one.paper.id for one in self.cited if one.paper is not None))


class DraftReader:
    """Reads a few drafts at a time.

    Args:
        service: whose settings say how many, and for how long.

    Example:
        The path ``/v1/draft`` has one:

        >>> from cocite_serve.settings import ServeSettings
        >>> reader = DraftReader(Service(lambda: None, ServeSettings(index="index"), metrics=None))
        >>> reader.under_way
        0
    """

    def __init__(self, service: Service) -> None:
        self._service, self._lock = service, threading.Lock()
        self._threads = ThreadPoolExecutor(service.settings.limits.drafts_at_once, "drafts")
        self.under_way = self.held = 0

    async def read(self, request: DraftRequest, papers: Papers, model: Path | None = None) -> FoundDraft:
        """Read a draft, and find what it cites among some papers.

        Args:
            request: the draft.
            papers: of the index.
            model: folder of the model, whose classifier finds sentences that need a citation.

        Raises:
            InputError: it is none, or is above a limit, or the papers lack one that it likes or dislikes, or the model
                has no classifier.
            OverloadedError: too many drafts wait.
            TooSlowError: it took longer than a request may.
        """
        limits = self._service.settings.limits
        check_options(request, limits, request.year)
        check_values(request.authors, "authors", limits)
        if len(request.venue) > limits.title_chars:
            raise InputError(f"at most {limits.title_chars:,} characters are allowed", where="venue")
        _check_suggest(request.suggest, limits, model)
        if request.finished and self.held >= limits.drafts_waiting:
            raise OverloadedError(f"the files of {self.held} drafts are held until these are finished")
        await await_seeds(request, papers)  # a wrong list is refused once, and not at each gap
        found = await self._in_turn(found_draft, request, papers, limits, model)
        check_options(request, limits, found.year)  # of the draft's own year, where the request has none
        if request.finished and found.draft.kind == "pdf":
            raise InputError(NOT_WRITTEN, where="finished")
        return found

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Count the files of a draft as held until it is finished."""
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1

    async def finish(
        self, sent: list[DraftFile], main: str, papers: Mapping[int, Sequence[GapPaper]], style: str
    ) -> Finished:
        """A draft with papers in its gaps.

        Args:
            sent, main, style: as of the request.
            papers: number of a gap, from 1 -> the papers for it.

        Raises:
            InputError: it cannot be written, or is above a limit.
            OverloadedError: too many drafts wait.
            TooSlowError: it took longer than a request may.
        """
        return await self._in_turn(finished_draft, sent, main, papers, style, self._service.settings.limits)

    async def finish_chosen(self, request: DraftFinishRequest, papers: Papers) -> Finished:
        """A draft with the papers in its gaps that its author chose.

        Raises:
            InputError: it cannot be read or written, or is above a limit, or a choice is none.
            OverloadedError: too many drafts wait.
            TooSlowError: it took longer than a request may.
        """
        limits = self._service.settings.limits
        check_choices(request, papers, limits)
        return await self._in_turn(chosen_draft, request, papers, limits)

    async def text(self, request: DraftTextRequest, papers: Papers, model: Path | None = None) -> DraftText:
        """The text of a draft, and what it cites among some papers.

        Args:
            request, papers, model: as of :meth:`read`.

        Raises:
            InputError: it is none, or is above a limit, or the model has no classifier.
            OverloadedError: too many drafts wait.
            TooSlowError: it took longer than a request may.
        """
        limits = self._service.settings.limits
        _check_classifier(request.suggest, model)
        return await self._in_turn(text_of_draft, request, papers, limits, model)

    async def _in_turn(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """The result of a call in one of the threads that read drafts."""
        limits, most = self._service.settings.limits, self._service.settings.request_timeout_s
        with self._service.room():
            if self.under_way >= limits.drafts_waiting:
                raise OverloadedError(f"{self.under_way} drafts are read or wait")
            with self._lock:
                self.under_way += 1
            job = self._threads.submit(work, *args, **named)
            # Not when the client leaves, but when the thread has ended.
            job.add_done_callback(lambda _: self._end())
            try:
                async with asyncio.timeout(most):
                    return await asyncio.wrap_future(job)
            except TimeoutError as error:
                raise TooSlowError(most, "a shorter draft is faster") from error

    def _end(self) -> None:
        with self._lock:
            self.under_way -= 1


def found_draft(
    request: DraftRequest, papers: Papers, limits: Limits, model: Path | None = None
) -> FoundDraft:
    """Read a draft in another process, and find what it cites.

    Raises:
        InputError: it is none, or is above a limit; ``where`` is the field of the request.
    """
    suggest = _suggest(request.suggest, model)
    read = read_files(request.files, request.main, request.bib, limits, suggest=suggest)
    draft = read.draft
    if len(draft.gaps) > limits.draft_gaps:
        raise InputError(
            f"the draft has {len(draft.gaps):,} gaps, at most {limits.draft_gaps:,} are allowed",
            where="files",
        )
    if not (draft.gaps or draft.cites or request.suggest):
        raise InputError("the draft has neither gaps nor citations; mark a gap with [CIT]", where="files")
    draft, bibliography = with_cited(read, papers)
    year = request.year or draft.year
    cited = cited_papers(draft, bibliography, papers.corpus)
    own_rows = list(bibliography.cited_rows(draft).values())
    return FoundDraft(
        draft,
        year,
        cited,
        companions(papers, own_rows, request.together, year),
        own_keys(bibliography, papers),
        frozenset({*bibliography.entries, *(one.key for one in cited)}),
        read.missing,
        read.suggested,
        read.quality,
    )


def _check_suggest(most: int, limits: Limits, model: Path | None) -> None:
    if most > limits.draft_gaps:
        raise InputError(f"at most {limits.draft_gaps:,} is allowed, got {most:,}", where="suggest")
    _check_classifier(most, model)


def _check_classifier(most: int, model: Path | None) -> None:
    if most and not has_classifier(model):
        raise InputError(
            "the served model does not know which sentences need a citation: it has no citing-sentences",
            where="suggest",
        )


def _suggest(most: int, model: Path | None) -> tuple[Path, int] | None:
    return None if model is None or not most else (model, most)


def text_of_draft(
    request: DraftTextRequest, papers: Papers, limits: Limits, model: Path | None = None
) -> DraftText:
    """The text of a draft, read in another process, and what it cites among some papers.

    Raises:
        InputError: it is none, or is above a limit; ``where`` is the field of the request.
    """
    suggest = _suggest(request.suggest, model)
    read = read_files(request.files, request.main, request.bib, limits, sources=True, suggest=suggest)
    text = draft_text(read.draft)
    if len(text) > limits.text_chars:
        raise InputError(
            f"the draft has {len(text):,} characters, at most {limits.text_chars:,} are allowed",
            where="files",
            hint="send a part of it",
        )
    draft, bibliography = with_cited(read, papers)
    return DraftText(
        file=draft.file,
        form=draft.kind,
        gaps=len(draft.gaps),
        text=text,
        cited=cited_out(cited_papers(draft, bibliography, papers.corpus)),
        usually_cited_together=together_out(
            companions(papers, list(bibliography.cited_rows(draft).values()), request.together, draft.year),
            papers,
        ),
        suggestions=[_suggested(read.draft, text, gap, chance) for gap, chance in read.suggested],
        suggestion_quality=read.quality and SuggestionQuality.model_validate(read.quality),
        warnings=[*draft.warnings, *missing_warnings(read.missing)],
    )


def _suggested(draft: Draft, text: str, gap: Gap, probability: float) -> SuggestedSentence:
    start, end = place_in_text(draft, text, gap) or (None, None)
    return SuggestedSentence(
        file=gap.place.file,
        line=gap.place.line,
        sentence=gap.sentence,
        start=start,
        end=end,
        probability=probability,
    )


def cited_out(cited: Sequence[CitedPaper]) -> list[CitedOut]:
    """What a draft cites, as answers have it."""
    return [
        CitedOut(key=one.key, title=one.title, id=None if one.paper is None else one.paper.id)
        for one in cited
    ]


def together_out(found: Sequence[Companion], papers: Papers) -> list[TogetherOut]:
    """Papers usually cited together with what a draft cites, as answers have them."""
    counts = papers.in_citations(papers.rows([one.paper.id for one in found]))
    return [
        TogetherOut(
            id=one.paper.id,
            title=one.paper.title,
            authors=list(one.paper.authors),
            year=one.paper.year or None,
            venue=one.paper.venue,
            abstract=one.paper.abstract,
            doi=one.paper.doi,
            in_citations=count,
            papers=one.papers,
        )
        for one, count in zip(found, counts, strict=True)
    ]


def missing_warnings(missing: Sequence[str]) -> list[str]:
    """A sentence for each bibliography that a draft names and that was not sent."""
    return [f"the bibliography {name!r} is not among the files: send it too" for name in missing]
