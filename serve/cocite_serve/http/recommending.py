"""Answers one request for recommendations, whether it comes alone or in a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cocite.pipeline.options import Options
from cocite_serve.http.conversion import Stamps, to_query, to_response
from cocite_serve.http.library_marks import LibraryMarks
from cocite_serve.http.manuscript import NO_TEXT, Manuscript, manuscript_of
from cocite_serve.http.pages import Page, digest
from cocite_serve.http.problems import check_limits
from cocite_serve.http.request_context import current
from cocite_serve.http.request_seeds import await_rows, await_seeds, has_text
from cocite_serve.http.schemas import RecommendRequest, RecommendResponse
from cocite_serve.http.service import Service
from cocite_serve.settings import ServeSettings


async def recommend(service: Service, request: RecommendRequest) -> RecommendResponse:
    """The answer to a request.

    Raises:
        InputError: a field does not fit, or is above its limit, or no such release is loaded.
        HTTPException: 410, its page is of versions that are not served any more.
        OverloadedError: it would wait too long for others.
        TooSlowError: it took longer than it may.
    """
    check_limits(request, service.settings.limits)
    manuscript = NO_TEXT
    if has_text(request, request.title, request.abstract, request.context, request.text):
        manuscript = manuscript_of(request)
    response = await recommend_for(service, request, manuscript)
    response.papers = LibraryMarks(request.have).on(response.papers)
    return response


async def recommend_for(
    service: Service, request: RecommendRequest, manuscript: Manuscript, cited: Sequence[str] = ()
) -> RecommendResponse:
    """The answer to a request whose limits were checked.

    Args:
        service: answers it.
        request: its options; its text is not looked at.
        manuscript: the text.
        cited: ids of papers that the manuscript cites, which are not recommended.

    Raises:
        InputError, HTTPException, OverloadedError, TooSlowError: as of :func:`recommend`.
    """
    context, page = current(), Page.parse(request.page) if request.page else None
    backend = service.current()
    # Its rows are meant from here on.
    if page is not None and request.release is None:
        backend = backend.holding(page.model, page.index)
    else:
        backend = backend.chosen(request.release, request.client or context.key or context.id)
    left_out = [*request.exclude, *cited]
    rows = await await_rows(left_out, backend.papers)
    query = to_query(manuscript, request, await await_seeds(request, backend.papers))
    options = _options(request, service.settings, rows)
    asked = digest(query, options)
    if page is not None:
        page.check(backend.model_version, backend.index_version, asked, options.depth)
        options = replace(options, offset=page.offset)
        if page.read is not None:
            options = replace(options, rerank=page.read)
    answer = await service.within(
        request.deadline_ms,
        lambda deadline: backend.recommend(query, options, deadline),
        # A page continues the list of the first one, which as many candidates were read for.
        partial=request.deadline_ms is not None and page is None,
    )
    service.metrics.observe(answer)
    unknown = [id_ for id_, row in zip(request.exclude, rows[: len(request.exclude)], strict=True) if row < 0]
    stamps = answer.answered_by or backend
    response = to_response(
        manuscript,
        answer,
        stamps.papers,
        unknown,
        versions_of(stamps),
        options.offset,
        explained=request.evidence,
    )
    end = options.offset + options.top_k
    if stamps is not backend:  # in whose index the same papers may be other rows
        asked = digest(
            to_query(manuscript, request, await await_seeds(request, stamps.papers, lenient=True)),
            _options(request, service.settings, await await_rows(left_out, stamps.papers)),
        )
    whole = not answer.token  # the papers behind those of two lists are no list
    if whole and len(response.papers) == options.top_k and end < min(options.depth, len(stamps.papers)):
        read = answer.read if answer.to_read else None
        model, index = stamps.model_version, stamps.index_version
        response.next = Page(model=model, index=index, request=asked, offset=end, read=read).token()
    context.facts |= versions_of(stamps)
    if answer.release != "served":
        context.facts["release"] = answer.release
    response.request_id = context.id
    return response


def _options(request: RecommendRequest, settings: ServeSettings, rows: Iterable[int]) -> Options:
    limits = settings.limits
    return Options(
        top_k=request.top_k or min(settings.top_k, limits.top_k),
        depth=request.depth or min(settings.depth, limits.depth),
        rerank=min(settings.rerank, limits.rerank) if request.rerank is None else request.rerank,
        cross_weight=settings.cross_weight,
        year_from=request.year_from,
        year_to=request.year_to,
        candidates=request.candidates,
        exclude=tuple(int(row) for row in rows if row >= 0),
        exclude_authors=tuple(request.exclude_authors),
        evidence=request.evidence,
        retrievers=tuple(request.retrievers),
        weights=tuple(sorted(request.weights.items())),
        popularity=request.popularity,
        diversity=request.diversity,
    )


def versions_of(release: Stamps) -> dict[str, str]:
    """``model_version`` and ``index_version`` of an answer."""
    return {"model_version": release.model_version, "index_version": release.index_version}
