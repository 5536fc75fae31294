"""Drafts are read a few at a time, beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from helpers.api_backend import LIMITS, InProcess

from cocite.errors import InputError
from cocite_serve.http import draft_files
from cocite_serve.http.draft_reading import DraftReader, found_draft
from cocite_serve.http.draft_schemas import DraftRequest
from cocite_serve.http.papers import Papers
from cocite_serve.http.problems import OverloadedError, TooSlowError
from cocite_serve.http.service import Service
from cocite_serve.settings import ServeSettings

REQUEST = DraftRequest.model_validate(
    {
        "files": [{"name": "a.md", "text": "# Parsing\n\nAttention [@v; @w] and more [@?]."}],
        "bib": "@misc{v, title={Attention Is All You Need}}\n@misc{u, title={Attention Is All You Need}}",
        "year": 2018,
    }
)


def test_what_a_draft_cites_is_found_among_papers_that_are_there(backend: InProcess) -> None:
    limits = LIMITS.model_copy(update={"draft_s": 300.0})
    found = found_draft(REQUEST, backend.papers, limits)
    assert found.cited_ids == ("vaswani2017attention",)
    assert found.own_keys == {"vaswani2017attention": "v"}
    assert found.taken == {"u", "v", "w"}
    assert found.year == 2018
    assert 0 < len(found.companions) <= 5
    assert all(one.paper.year <= 2018 for one in found.companions)
    alive = backend.papers.alive.copy()
    alive[backend.papers.rows(["vaswani2017attention"])] = False
    removed = found_draft(REQUEST, Papers(backend.papers.corpus, alive), limits)
    assert (removed.cited_ids, removed.own_keys, removed.companions) == ((), {}, [])


def test_drafts_wait_for_one_another_and_too_many_are_refused(
    backend: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, begun = threading.Event(), threading.Semaphore(0)

    def slow(*_: Any, **__: Any) -> Any:
        begun.release()
        free.wait(60)
        raise InputError("read")

    # In place of the other process alone: what is tested here is who waits for it.
    monkeypatch.setattr(draft_files, "read_apart", slow)

    def reader(seconds: float) -> DraftReader:
        limits = {"drafts_at_once": 1, "drafts_waiting": 2}
        values = {"index": "unused", "limits": limits, "request_timeout_s": seconds}
        settings = ServeSettings.model_validate(values)
        return DraftReader(Service(lambda: backend, settings, metrics=None))  # type: ignore[arg-type]

    async def too_many() -> None:
        patient = reader(300.0)
        waiting = [asyncio.ensure_future(patient.read(REQUEST, backend.papers)) for _ in range(2)]
        await asyncio.to_thread(begun.acquire, timeout=60)
        with pytest.raises(OverloadedError, match="2 drafts are read or wait"):
            await patient.read(REQUEST, backend.papers)
        free.set()
        for one in waiting:
            with pytest.raises(InputError, match="read"):
                await one

    async def too_slow() -> None:
        impatient = reader(2.0)
        waiting = [asyncio.ensure_future(impatient.read(REQUEST, backend.papers))]
        await asyncio.sleep(0)  # it is given to the thread
        assert begun.acquire(timeout=60)  # meanwhile the event loop gives nothing up
        waiting.append(asyncio.ensure_future(impatient.read(REQUEST, backend.papers)))
        for one in waiting:
            with pytest.raises(TooSlowError, match=r"longer than 2 s; a shorter draft is faster"):
                await one
        # The second one never began; the first one is under way until its thread has ended.
        assert impatient.under_way == 1
        free.set()
        while impatient.under_way:
            await asyncio.sleep(0.01)
        assert not begun.acquire(blocking=False)

    asyncio.run(too_many())
    free.clear()
    assert begun.acquire(timeout=60)
    asyncio.run(too_slow())


def test_no_process_is_started_for_what_is_no_draft_by_its_name(backend: InProcess) -> None:
    request = DraftRequest.model_validate({"files": [{"name": "a.odt", "text": "x"}]})
    limits = LIMITS.model_copy(update={"draft_s": 0.00001})
    with pytest.raises(InputError, match=r"files: a\.odt: is of no known kind: '\.odt'"):
        found_draft(request, backend.papers, limits)
