"""The lines of a draft, and what ends with them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import FastAPI, Request
from helpers.api_backend import LIMITS, InProcess

from cocite.drafts.reading import read_text
from cocite_serve.http.draft_lines import DraftLines
from cocite_serve.http.draft_reading import DraftReader, FoundDraft
from cocite_serve.http.draft_schemas import DraftRequest
from cocite_serve.http.metrics import GatewayMetrics
from cocite_serve.http.problems import add_handlers
from cocite_serve.http.service import Service
from cocite_serve.settings import ServeSettings

TEXT = r"\author{Ann Lee} We parse trees [CIT]. Words have vectors [CIT].\footnote{\cite{?}}"


def lines(backend: InProcess, **more: object) -> DraftLines:
    app, draft = FastAPI(), read_text(TEXT, "latex")
    settings = ServeSettings(index="unused", limits=LIMITS)  # type: ignore[arg-type]
    add_handlers(app, settings)
    found = FoundDraft(draft, None, [], [], {}, frozenset(), ("refs",))
    asked = DraftRequest.model_validate({"files": [{"name": "a.tex", "text": TEXT}], "top_k": 2, **more})
    request = Request({"type": "http", "path": "/", "headers": []})
    service = Service(lambda: backend, settings, GatewayMetrics())
    return DraftLines(app, request, service, asked, found, DraftReader(service))


def test_a_head_the_gaps_and_an_end(backend: InProcess) -> None:
    async def read() -> list[Any]:
        return [json.loads(line) async for line in lines(backend).all(backend)]

    first, *gaps, last = asyncio.run(read())
    assert first["authors"] == ["Ann Lee"]
    assert first["warnings"] == ["the bibliography 'refs' is not among the files: send it too"]
    assert sorted(gap["gap"] for gap in gaps) == [1, 2, 3]
    assert (last["answered"], last["empty"], last["refused"]) == (2, 1, 0)


def test_new_keys_have_the_form_that_is_asked_for(backend: InProcess) -> None:
    async def read(**more: object) -> dict[str, str]:
        found = [json.loads(line) async for line in lines(backend, **more).all(backend)]
        answered = [gap for gap in found if gap.get("answer")]
        return {
            paper["id"]: key
            for gap in answered
            for paper, key in zip(gap["answer"]["papers"], gap["cite"], strict=True)
        }

    usual, better = asyncio.run(read()), asyncio.run(read(cite_keys="better-bibtex"))
    assert usual.keys() == better.keys()
    assert all(key == key.lower() for key in usual.values())
    assert all(key != key.lower() for key in better.values())


def test_a_defect_is_one_gap_s_own_and_quotes_nothing(backend: InProcess) -> None:
    async def broken(*_: Any) -> Any:
        raise ZeroDivisionError("We parse trees")

    backend.recommend = broken  # type: ignore[method-assign]

    async def read() -> list[Any]:
        return [json.loads(line) async for line in lines(backend).all(backend)]

    _, *gaps, last = asyncio.run(read())
    assert sorted(gap["status"] for gap in gaps) == [200, 500, 500]
    assert "parse trees" not in json.dumps([gap["problem"] for gap in gaps])
    assert (last["empty"], last["refused"]) == (1, 2)


def test_when_nobody_reads_on_the_rest_is_cancelled(backend: InProcess) -> None:
    cancelled = []

    async def waits(*_: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    backend.recommend = waits  # type: ignore[method-assign]

    async def leave() -> None:
        source = lines(backend).all(backend)
        assert json.loads(await anext(source))["kind"] == "draft"
        assert json.loads(await anext(source))["note"]  # the gap without words waits for nothing
        await source.aclose()

    asyncio.run(leave())
    assert cancelled == [1, 1]
