from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx
import jsonschema
import pytest
from helpers.sure_classifier import sure_classifier
from mcp import Client, MCPError
from mcp_types import CallToolResult

from cocite_serve.agents.answers import Bibliography
from cocite_serve.agents.arguments import BibtexArguments
from cocite_serve.agents.server import MAX_BODY, MAX_WAITING, PATH, ToolServer, http_app
from cocite_serve.agents.tools import Tools

T = TypeVar("T")
DRAFT = "Attention aligns words [CIT]. Quality is measured by BLEU [CIT]."


def ask(server: ToolServer, work: Callable[[Client], Awaitable[T]]) -> T:
    """The result of what the official client does, with the server in this process."""

    async def run() -> T:
        async with Client(server.protocol) as client:
            return await work(client)

    return asyncio.run(run())


def test_tools_are_listed_with_schemas_limits_and_hints(tools: Tools) -> None:
    listed = ask(ToolServer(tools), lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == ["recommend", "fill_gaps", "explain", "get_bibtex"]
    for tool in listed:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert tool.output_schema is not None
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    properties = listed[0].input_schema["properties"]
    assert (properties["top_k"]["maximum"], properties["text"]["maxLength"]) == (50, 100_000)


def test_an_answer_is_structured_and_text(tools: Tools) -> None:
    result = ask(
        ToolServer(tools), lambda client: client.call_tool("recommend", {"title": "BLEU", "top_k": 2})
    )
    assert not result.is_error
    papers = result.structured_content["papers"]
    assert [paper["rank"] for paper in papers] == [1, 2]
    [text] = result.content
    assert text.type == "text"
    assert all(f"id: {paper['id']}" in text.text for paper in papers)


def test_progress_is_told_gap_by_gap(tools: Tools) -> None:
    told: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, _: str | None) -> None:
        told.append((progress, total))

    result = ask(
        ToolServer(tools),
        lambda client: client.call_tool("fill_gaps", {"text": DRAFT}, progress_callback=note),
    )
    assert [gap["gap"] for gap in result.structured_content["gaps"]] == [0, 1]
    assert told == [(1, 2), (2, 2)]


def test_suggested_sentences_follow_the_gaps(tools: Tools) -> None:
    told: list[float] = []

    async def progress(done: float, total: float | None) -> None:
        assert total == 2
        told.append(done)

    server = ToolServer(Tools(tools._recommender, sure_classifier()))
    text = "Words are split into subword units [CIT]. The quality of translations is measured by BLEU."
    answer = asyncio.run(server.call("fill_gaps", {"text": text, "suggest": 5}, progress)).structured_content
    assert answer is not None
    assert (len(answer["gaps"]), len(answer["suggestions"]), told) == (1, 1, [1, 2])
    assert "BLEU" in answer["suggestions"][0]["sentence"]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("recommend", {}, "recommend: give a title and abstract, or a text with the gap marked [CIT]"),
        ("recommend", {"title": "a", "topk": 3}, "recommend: unknown key 'topk' (did you mean 'top_k'?)"),
        (
            "recommend",
            {"title": "a", "top_k": 51},
            "recommend: top_k: input should be less than or equal to 50, got 51",
        ),
        (
            "recommend",
            {"text": "a [CIT]", "gap": 1},
            "recommend: gap: there is no gap number 1: the text holds 1 [CIT], counted from 0",
        ),
        (
            "recommend",
            {"title": "a", "year_from": 2010, "year_to": 2000},
            "recommend: year_from 2010 is later than year_to 2000",
        ),
        (
            "fill_gaps",
            {"text": "a"},
            "fill_gaps: text: it holds no [CIT] (mark each missing citation with [CIT])",
        ),
        ("explain", {"id": "x", "title": "a"}, "explain: id: no paper has the id 'x'"),
        ("get_bibtex", {"ids": ["x"]}, "get_bibtex: id: no paper has the id 'x'"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    tools: Tools, name: str, arguments: dict[str, object], sentence: str
) -> None:
    result = ask(ToolServer(tools), lambda client: client.call_tool(name, arguments))
    assert result.is_error
    assert result.content[0].type == "text"
    assert result.content[0].text == sentence


def test_an_unknown_tool_is_an_error_of_the_protocol(tools: Tools) -> None:
    async def call(client: Client) -> None:
        with pytest.raises(MCPError, match="no tool is called 'recomend': did you mean 'recommend'"):
            await client.call_tool("recomend", {"title": "a"})

    ask(ToolServer(tools), call)


class Broken(Tools):
    """Fails with words of the text in the error, as a library's error may have them."""

    def get_bibtex(self, asked: BibtexArguments) -> Bibliography:
        raise KeyError(asked.ids[0])


def test_a_defect_tells_neither_client_nor_log_the_words_of_a_draft(
    tools: Tools, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(tools._recommender)
    result = ask(ToolServer(broken), lambda client: client.call_tool("get_bibtex", {"ids": ["secret"]}))
    assert result.is_error
    assert result.content[0].type == "text"
    assert result.content[0].text == "get_bibtex: the server could not answer; its standard error says why"
    assert "KeyError" in caplog.text
    assert "secret" not in caplog.text


class Held(Tools):
    """Answers when it is let go, and counts the calls that are computed at the same time."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools._recommender)
        self.go, self.at_once, self.most = threading.Event(), 0, 0

    def get_bibtex(self, asked: BibtexArguments) -> Bibliography:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.go.wait(30)
        self.at_once -= 1
        return super().get_bibtex(asked)


def test_one_call_is_computed_at_a_time_and_too_many_are_refused(tools: Tools) -> None:
    held = Held(tools)
    server = ToolServer(held)

    async def run() -> tuple[CallToolResult, list[CallToolResult]]:
        calls = [
            asyncio.create_task(server.call("get_bibtex", {"ids": ["devlin2019bert"]}))
            for _ in range(MAX_WAITING + 1)
        ]
        await asyncio.sleep(0)
        refused = await server.call("get_bibtex", {"ids": ["devlin2019bert"]})
        held.go.set()
        return refused, await asyncio.gather(*calls)

    refused, answered = asyncio.run(run())
    assert refused.is_error
    assert refused.content[0].type == "text"
    assert refused.content[0].text == "get_bibtex: 16 calls are waiting; try again when they are answered"
    assert not any(result.is_error for result in answered)
    assert held.most == 1
    assert not asyncio.run(server.call("get_bibtex", {"ids": ["devlin2019bert"]})).is_error


def test_over_http_strangers_and_large_bodies_are_refused(tools: Tools) -> None:
    app = http_app(ToolServer(tools))
    accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'

    async def run() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8001", headers=accept
            ) as client,
        ):
            answers = [
                await client.post(PATH, content=ping),
                await client.post(PATH, content=ping, headers={"host": "evil.example.org"}),
                await client.post(PATH, content=ping, headers={"origin": "https://evil.example.org"}),
                await client.post(PATH, content=b" " * (MAX_BODY + 1)),
            ]
            return [answer.status_code for answer in answers]

    assert asyncio.run(run()) == [200, 421, 403, 413]
