from __future__ import annotations

import json
import threading
from typing import Any

import pytest
import rispy
from helpers.api_backend import InProcess, client

from cocite.corpus.records import PaperRecord
from cocite.corpus.references import FORMS


@pytest.mark.parametrize("path", FORMS)
def test_papers_are_given_in_each_form(backend: InProcess, path: str) -> None:
    ids = backend.papers.corpus.ids([0, 1])
    both = client(backend).get(f"/v1/{path}", params={"id": ids})
    assert both.status_code == 200
    assert both.headers["content-type"].partition(";")[0] == FORMS[path].media_type
    assert both.text == FORMS[path].text(backend.papers.records(ids))
    one = client(backend).get(f"/v1/papers/{ids[0]}/{path}")
    assert one.text == FORMS[path].text(backend.papers.records(ids[:1]))


@pytest.mark.parametrize("path", FORMS)
def test_keys_are_made_as_is_asked(backend: InProcess, path: str) -> None:
    ids = ["vaswani2017attention", "papineni2002bleu"]
    get, asked = client(backend).get, {"cite_keys": "better-bibtex"}
    both = get(f"/v1/{path}", params={"id": ids, **asked}).text
    assert both == FORMS[path].text(backend.papers.records(ids), "better-bibtex")
    assert "vaswaniAttentionAllYou2017" in both
    assert "vaswaniAttentionAllYou2017" in get(f"/v1/papers/{ids[0]}/{path}", params=asked).text
    assert (
        "vaswani-17"
        in get(f"/v1/{path}", params={"id": ids, "cite_keys": "auth.lower + '-' + shortyear"}).text
    )
    for full in (f"/v1/{path}", f"/v1/papers/{ids[0]}/{path}"):
        refused = get(full, params={"id": ids, "cite_keys": "bbt"})
        assert (refused.status_code, refused.json()["field"]) == (422, "query.cite_keys")
        assert "formula, character 1: cocite knows no function 'bbt' (known: auth," in refused.json()["error"]


@pytest.mark.parametrize("path", FORMS)
def test_no_paper_gets_a_key_that_is_taken(backend: InProcess, path: str) -> None:
    get, id_ = client(backend).get, "vaswani2017attention"
    taken = ["Vaswani2017Attention", "vaswani2017attentionb"]
    for full, asked in ((f"/v1/{path}", {"id": id_}), (f"/v1/papers/{id_}/{path}", {})):
        found = get(full, params={**asked, "taken": taken})
        assert found.text == FORMS[path].text(backend.papers.records([id_]), taken=taken)
        assert "vaswani2017attentionc" in found.text
        for refused in (["k"] * 4, [""], ["k" * 201]):
            answer = get(full, params={**asked, "taken": refused})
            assert (answer.status_code, answer.json()["field"].split(".")[:2]) == (422, ["query", "taken"])


def test_the_forms_are_what_their_parsers_read(backend: InProcess) -> None:
    ids = backend.papers.corpus.ids([0, 1])
    titles = [paper.title for paper in backend.papers.records(ids)]
    get = client(backend).get
    assert [one["title"] for one in rispy.loads(get("/v1/ris", params={"id": ids}).text)] == titles
    assert [item["title"] for item in json.loads(get("/v1/csl-json", params={"id": ids}).text)] == titles


@pytest.mark.parametrize("path", FORMS)
def test_unknown_ids_and_too_many_are_refused(backend: InProcess, path: str) -> None:
    too_many = client(backend).get(f"/v1/{path}", params={"id": list("abcd")})
    assert (too_many.status_code, too_many.json()["error"]) == (422, "id: at most 3 papers at a time, got 4.")
    unknown = client(backend).get(f"/v1/papers/10.1000/no/such/{path}")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "No paper has the id '10.1000/no/such'.")
    assert client(backend).get(f"/v1/{path}").status_code == 422


def test_references_are_formatted_in_a_style(backend: InProcess) -> None:
    ids = ["vaswani2017attention", "papineni2002bleu"]
    get = client(backend).get
    both = get("/v1/formatted", params={"id": ids, "style": "harvard-cite-them-right"})
    assert (both.status_code, both.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    lines = both.text.splitlines()
    assert [line.partition(" (")[0].partition(",")[0] for line in lines] == ["Vaswani", "Papineni"]
    assert "(2017)" in lines[0]
    assert get(f"/v1/papers/{ids[1]}/formatted").text.splitlines() == lines[1:]
    for path, params, status in (
        ("formatted", {"id": ids, "style": "../x"}, 422),
        ("formatted", {"id": ids, "style": "art-history"}, 422),  # it has no list of references
        (f"papers/{ids[0]}/formatted", {"style": "none"}, 422),
        ("formatted", {"id": list("abcd")}, 422),
        ("formatted", {}, 422),
        ("papers/no/such/formatted", {}, 404),
    ):
        assert get(f"/v1/{path}", params=params).status_code == status, path


def test_a_style_is_chosen_by_name(backend: InProcess) -> None:
    get, path = client(backend).get, "/v1/papers/vaswani2017attention/formatted"
    assert get(path, params={"style": "ieee"}).text.startswith("[1] A. Vaswani")
    assert get(path, params={"style": "ACL"}).text.startswith("Ashish Vaswani, Noam Shazeer")
    refused = get(path, params={"style": "none"})
    assert (refused.status_code, refused.json()["field"]) == (422, "query.style")
    assert "no style has this name; some are acl, acm, apa, chicago, harvard" in refused.json()["error"]
    refused = get(path, params={"style": "art-history"})
    assert (refused.status_code, refused.json()["field"]) == (422, "style")
    assert "art-history: has no bibliography" in refused.json()["error"]


def test_references_that_take_too_long_are_given_up(backend: InProcess) -> None:
    held = threading.Event()

    class Waits(list[PaperRecord]):
        def __iter__(self) -> Any:
            held.wait(60)
            return super().__iter__()

    records = backend.papers.records
    backend.papers.records = lambda ids: Waits(records(ids))  # type: ignore[method-assign]
    try:
        answer = client(backend, request_timeout_s=0.1).get("/v1/papers/vaswani2017attention/formatted")
        assert answer.status_code == 504
    finally:
        held.set()


def test_the_description_tells_the_media_types(backend: InProcess) -> None:
    paths = client(backend).get("/openapi.json").json()["paths"]
    for path, form in FORMS.items():
        for full in (f"/v1/{path}", f"/v1/papers/{{id}}/{path}"):
            operation = paths[full]["get"]
            assert form.media_type in operation["responses"]["200"]["content"]
            assert form.name in operation["summary"]
            [forms] = [one["schema"] for one in operation["parameters"] if one["name"] == "cite_keys"]
            assert (forms["maxLength"], forms["default"]) == (200, "cocite")
            assert forms["examples"] == ["cocite", "better-bibtex", "auth.lower + year"]
            [taken] = [one["schema"] for one in operation["parameters"] if one["name"] == "taken"]
            assert (taken["maxItems"], taken["items"]["maxLength"]) == (3, 200)
            assert "422" in operation["responses"]
    for full in ("/v1/formatted", "/v1/papers/{id}/formatted"):
        [style] = [one["schema"] for one in paths[full]["get"]["parameters"] if one["name"] == "style"]
        assert (style["maxLength"], style["default"]) == (200, "harvard-cite-them-right")
        assert {"acl", "apa", "ieee"} < {*style["examples"]}
