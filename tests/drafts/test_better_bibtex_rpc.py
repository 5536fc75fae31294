"""Citation keys that Better BibTeX knows, asked of a server that answers as its JSON-RPC is documented."""

from __future__ import annotations

import json

import pytest
from helpers.zotero_api import FakePlugin, FakeZotero, served

from cocite.drafts import better_bibtex_rpc
from cocite.drafts.better_bibtex_rpc import is_key, plugin_keys
from cocite.drafts.zotero_client import zotero_client
from cocite.errors import InputError


def keys(
    monkeypatch: pytest.MonkeyPatch, plugin: FakePlugin | None, items: list[str], group: str = ""
) -> dict[str, str]:
    with served(FakeZotero({}, plugin=plugin)) as fake:
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        with zotero_client() as client:
            return plugin_keys(client, items, group)


def test_keys_are_asked_for_in_parts_and_those_that_are_none_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(better_bibtex_rpc, "BATCH", 2)
    plugin = FakePlugin(
        {"A": "lee2019own", "B": None, "C": "two words", "D": 3, "E": "ott:x_1", "F": "a" * 501}
    )
    assert keys(monkeypatch, plugin, list("ABCDEFG")) == {"A": "lee2019own", "E": "ott:x_1"}
    asked = [["A", "B"], ["C", "D"], ["E", "F"], ["G"]]
    assert [(one["method"], *one["params"]) for one in plugin.asked] == [
        ("item.citationkey", part) for part in asked
    ]
    plugin.asked.clear()
    assert keys(monkeypatch, plugin, [], "Lab") == {}
    assert plugin.asked == []


def test_a_zotero_without_the_plugin_has_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    assert keys(monkeypatch, None, ["A"]) == {}
    assert keys(monkeypatch, None, ["A"], "Lab") == {}


def test_a_group_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = FakePlugin({"7:A": "lee", "A": "mine"}, {1: "My Library", 7: "Lab", 8: "Twice", 9: "Twice"})
    assert keys(monkeypatch, plugin, ["A", "B"], "Lab") == {"A": "lee"}
    assert [one["method"] for one in plugin.asked] == ["user.groups", "item.citationkey"]
    with pytest.raises(InputError, match="Better BibTeX: no library is called 'Lap' .*pin its keys"):
        keys(monkeypatch, plugin, ["A"], "Lap")
    with pytest.raises(InputError, match="2 libraries are called 'Twice' .*by their names alone"):
        keys(monkeypatch, plugin, ["A"], "Twice")


@pytest.mark.parametrize(
    "raw",
    [
        b"<html>",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"result": null}',
        b'{"result": []}',
        b'{"result": "A"}',
    ],
)
def test_an_answer_of_another_program(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    with pytest.raises(
        InputError, match="^Better BibTeX: the answer is none of its JSON-RPC: .*update the plug"
    ):
        keys(monkeypatch, FakePlugin({}, raw=raw), ["A"])


@pytest.mark.parametrize(
    "raw", [b'{"result": {}}', b'{"result": [1]}', b'{"result": [{"id": "1", "name": "Lab"}]}']
)
def test_a_list_of_libraries_that_is_none(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    with pytest.raises(InputError, match="the answer is none of its JSON-RPC: (no list|a library without)"):
        keys(monkeypatch, FakePlugin({}, raw=raw), ["A"], "Lab")


@pytest.mark.parametrize(
    "error", [{"code": -32601, "message": "Method not\nfound: x"}, "Method not found: x"]
)
def test_an_error_of_the_plugin_is_one_sentence(monkeypatch: pytest.MonkeyPatch, error: object) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    with pytest.raises(
        InputError, match="it cannot say the citation keys: Method not found: x .*update the plug"
    ):
        keys(monkeypatch, FakePlugin({}, raw=raw), ["A"])


@pytest.mark.parametrize("text", ["", "a b", "a,b", "a{", "}", "a\n", None, 3, "a" * 501])
def test_texts_that_are_no_keys(text: object) -> None:
    assert not is_key(text)
