from __future__ import annotations

import asyncio
import threading

import pytest

from cocite_serve.tracing.origins import Origin, origins, request_ids, working_for


def test_tasks_work_for_the_requests_of_those_that_began_them() -> None:
    async def request(id_: str) -> str:
        with working_for((Origin(id_),)):
            await asyncio.sleep(0.01)  # the others begin meanwhile
            return await asyncio.ensure_future(stage())

    async def stage() -> str:
        return request_ids()

    async def several() -> list[str]:
        return list(await asyncio.gather(*(request(f"request-{i}") for i in range(5))))

    assert asyncio.run(several()) == [f"request-{i}" for i in range(5)]


def test_after_an_error_the_work_is_for_those_before() -> None:
    with working_for((Origin("outer"),)):
        with pytest.raises(ValueError, match="a defect"), working_for((Origin("inner"),)):
            raise ValueError("a defect")
        assert request_ids() == "outer"
    assert origins() == ()


def test_another_thread_works_for_none() -> None:
    found = []
    with working_for((Origin("mine"),)):
        thread = threading.Thread(target=lambda: found.append(origins()))
        thread.start()
        thread.join()
    assert found == [()]
