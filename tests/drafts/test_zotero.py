"""The library of a Zotero on this machine, asked of a server that answers as its local API does."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.zotero_api import FakePlugin, FakeZotero, collection, group, item, served

from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts import zotero
from cocite.drafts.library import Library
from cocite.drafts.zotero import zotero_bibliography, zotero_papers
from cocite.errors import InputError, NotFoundError

ITEMS = [
    item(
        "AAAA1111",
        title="Attention  Is All You Need",
        creators=[
            {"creatorType": "author", "firstName": "Ashish", "lastName": "Vaswani"},
            {"creatorType": "author", "name": "Google Brain"},
            {"creatorType": "editor", "firstName": "An", "lastName": "Editor"},
        ],
        date="2017-06-12",
        publicationTitle="NeurIPS",
        DOI="https://doi.org/10.1000/182",
        extra="arXiv:1706.03762 [cs.CL]",
    ),
    item("BBBB2222", kind="preprint", title="BERT", repository="arXiv", archiveID="arXiv:1810.04805"),
    item("CCCC3333", kind="webpage", title="Layer normalization", url="http://arxiv.org/abs/1607.06450v1"),
    item("DDDD4444", title="Old", extra="Citations: 3\nDOI: 10.5555/1", date="May 1999"),
    item("EEEE5555", title="Older", extra="2020.12345 is no number\narXiv: cs/0205070"),
    item("FFFF6666", kind="attachment", title="Full Text PDF"),
    item("GGGG7777", kind="note", note="<p>to read</p>"),
    item("HHHH8888"),
    item("IIII9999", title=["no text"]),
]
PAPERS = [
    PaperRecord(
        "AAAA1111",
        "Attention Is All You Need",
        year=2017,
        venue="NeurIPS",
        authors=("Ashish Vaswani", "Google Brain"),
        doi="10.1000/182",
    ),
    PaperRecord("BBBB2222", "BERT", venue="arXiv", doi="10.48550/arXiv.1810.04805"),
    PaperRecord("CCCC3333", "Layer normalization", doi="10.48550/arXiv.1607.06450"),
    PaperRecord("DDDD4444", "Old", year=1999, doi="10.5555/1"),
    PaperRecord("EEEE5555", "Older", doi="10.48550/arXiv.cs/0205070"),
    None,
    None,
]


def papers(
    monkeypatch: pytest.MonkeyPatch, fake: FakeZotero, collection: str = ""
) -> list[PaperRecord | None]:
    with served(fake):
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        return list(zotero_papers(collection))


def test_the_items_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    fake = FakeZotero({"items/top": ITEMS})
    assert papers(monkeypatch, fake) == PAPERS
    assert fake.asked == ["/api/users/0/items/top?format=json&limit=100&start=0&sort=dateAdded&direction=asc"]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 200, 250])
@pytest.mark.parametrize("knows_pages", [True, False])
def test_all_pages_are_read_once(monkeypatch: pytest.MonkeyPatch, count: int, knows_pages: bool) -> None:
    fake = FakeZotero(
        {"items/top": [item(f"K{i}", title=f"T{i}") for i in range(count)]}, knows_pages=knows_pages
    )
    found = papers(monkeypatch, fake)
    assert [paper.title for paper in found if paper] == [f"T{i}" for i in range(count)]
    assert len(fake.asked) <= count // 100 + 1


def test_a_collection_by_its_name_or_key(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [collection(f"N{i}", f"Number {i}") for i in range(120)]
    folders = [
        *many,
        collection("ABCD1234", "To read"),
        collection("XYZ", "Twice"),
        collection("XYY", "twice"),
    ]
    fake = FakeZotero(
        {
            "collections": folders,
            "collections/ABCD1234/items/top": ITEMS[1:2],
            "collections/XYZ/items/top": ITEMS[:1],
        }
    )
    for name in ("To read", "to READ", "ABCD1234"):
        assert papers(monkeypatch, fake, name) == PAPERS[1:2]
    assert papers(monkeypatch, fake, "XYZ") == PAPERS[:1]
    with pytest.raises(InputError, match=r"2 collections are called 'Twice' \(.*zotero:XYY or zotero:XYZ"):
        papers(monkeypatch, fake, "Twice")
    with pytest.raises(NotFoundError, match="no collection 'To reed'.*did you mean 'To read'"):
        papers(monkeypatch, fake, "To reed")


def test_a_group_by_its_name_or_number_and_a_collection_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeZotero(
        {
            "groups": [group(17, "Parsing"), group(18, "parsing"), group(4711, "Our Lab")],
            "items/top": ITEMS,
            "groups/4711/items/top": ITEMS[1:3],
            "groups/4711/collections": [collection("ABCD1234", "Survey/2020")],
            "groups/4711/collections/ABCD1234/items/top": ITEMS[:1],
        }
    )
    for name in ("groups/Our Lab", "groups/our lab", "groups/4711", "groups/4711/"):
        assert papers(monkeypatch, fake, name) == PAPERS[1:3]
    for name in ("groups/Our Lab/Survey/2020", "groups/4711/ABCD1234"):
        assert papers(monkeypatch, fake, name) == PAPERS[:1]
    with pytest.raises(NotFoundError, match=r"zotero:groups/Our Lap: no group .*did you mean 'Our Lab'"):
        papers(monkeypatch, fake, "groups/Our Lap")
    with pytest.raises(NotFoundError, match=r"zotero:groups/4711/Surveys: no collection 'Surveys'"):
        papers(monkeypatch, fake, "groups/4711/Surveys")
    two = r"2 groups are called 'Parsing' \(.*zotero:groups/17 or zotero:groups/18"
    with pytest.raises(InputError, match=two):
        papers(monkeypatch, fake, "groups/Parsing")


def test_a_library_of_papers_and_of_a_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = starter_corpus()
    some = [paper for paper in corpus.papers_at(range(0, len(corpus), 9)) if " " in paper.title]
    items = [item(f"K{i}", title=paper.title) for i, paper in enumerate(some)]
    with served(FakeZotero({"items/top": [*items, item("X", title="Of another field"), item("Y")]})) as fake:
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        library = Library.read(["zotero:"], corpus)
    assert corpus.ids(library.rows) == [paper.id for paper in some]
    assert (library.entries, library.found, library.unread) == (len(some) + 1, len(some), 1)


def test_citation_keys_are_those_of_zotero_or_of_better_bibtex(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        item("A", title="Own", citationKey="lee2019own", extra="Citation Key: other"),
        item("B", title="Pinned", extra="tex.note: x\nCitation Key: kimPinned2020 \nDOI: 10.5555/1"),
        item("C", title="Lower", extra="citation key: ott:x_1"),
        item("D", title="None", extra="Citations: 3\nSee Citation Key: no"),
        item("E", title="No key", citationKey="two words"),
        item("F", citationKey="no_paper"),
        item("G", title="Of another type", citationKey=["x"]),
        item("H", kind="note", note="<p>Citation Key: x</p>", citationKey="x"),
    ]
    with served(FakeZotero({"items/top": items})) as fake:
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        found = [(paper.id, paper.title, paper.doi) for paper in zotero_bibliography()]
    assert found == [
        ("lee2019own", "Own", ""),
        ("kimPinned2020", "Pinned", "10.5555/1"),
        ("ott:x_1", "Lower", ""),
    ]


def test_keys_that_zotero_does_not_show_are_asked_of_better_bibtex(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        item("A", title="Own", citationKey="lee2019own"),
        item("B", title="Not pinned"),
        item("C", title="Pinned", extra="Citation Key: kimPinned2020"),
        item("D", title="Unknown to it"),
        item("E"),
    ]
    plugin = FakePlugin({"A": "other", "B": "parkNot2021", "E": "no_paper"})
    with served(FakeZotero({"items/top": items}, plugin=plugin)) as fake:
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        found = [(paper.id, paper.title) for paper in zotero_bibliography()]
        assert [paper.id for paper in zotero_papers() if paper] == ["A", "B", "C", "D"]
    assert found == [("lee2019own", "Own"), ("parkNot2021", "Not pinned"), ("kimPinned2020", "Pinned")]
    assert [asked["params"] for asked in plugin.asked] == [[["B", "D"]]]


def test_the_plugin_is_asked_for_keys_of_a_group_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeZotero(
        {"groups": [group(4711, "Our Lab")], "groups/4711/items/top": [item("A", title="Not pinned")]},
        plugin=FakePlugin({"3:A": "parkNot2021", "A": "mine"}, {1: "My Library", 3: "Our Lab"}),
    )
    with served(fake):
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        for name in ("groups/our lab", "groups/4711"):
            assert [paper.id for paper in zotero_bibliography(name)] == ["parkNot2021"]


def test_a_bibliography_without_citation_keys_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(FakeZotero({"items/top": ITEMS})) as fake:
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        with pytest.raises(InputError, match=r"^zotero:: no item has a citation key \(Zotero 8 has them"):
            list(zotero_bibliography())


def test_a_library_has_a_greatest_number_of_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zotero, "MAX_ITEMS", 2)
    with pytest.raises(InputError, match="Zotero: more than 2 top.*name a collection"):
        papers(monkeypatch, FakeZotero({"items/top": ITEMS[:3]}))


def test_a_local_api_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"switched off.*Allow other applications on this computer"):
        papers(monkeypatch, FakeZotero({}, is_on=False))


@pytest.mark.parametrize(
    "raw", [b"<html>", b"{}", b"[1]", b'[{"data": {}}]', b'[{"key": "../x"}]', b"\xff", b"[" * 100_000]
)
def test_an_answer_of_another_program(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    with pytest.raises(InputError, match="Zotero: the answer is none of Zotero's local API"):
        papers(monkeypatch, FakeZotero({}, raw=raw))


def test_a_path_that_another_program_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="status 404 for users/0/items/top"):
        papers(monkeypatch, FakeZotero({}))


def test_an_item_of_any_values_is_read_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    odd: list[dict[str, Any]] = [{"key": "A"}, {"key": "B", "data": 3}, {"key": "C", "data": {"title": None}}]
    odd += [item("D", title="T", creators=3), item("E", title="T", date=2017), item("F", title="T", DOI={})]
    assert [paper and paper.year for paper in papers(monkeypatch, FakeZotero({"items/top": odd}))] == [
        *[None] * 4,
        2017,
        None,
    ]
