from __future__ import annotations

import json

import pytest
import rispy
from helpers.api_backend import InProcess, client

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
    for full in (f"/v1/{path}", f"/v1/papers/{ids[0]}/{path}"):
        refused = get(full, params={"id": ids, "cite_keys": "bbt"})
        assert (refused.status_code, refused.json()["field"]) == (422, "query.cite_keys")


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


def test_the_description_tells_the_media_types(backend: InProcess) -> None:
    paths = client(backend).get("/openapi.json").json()["paths"]
    for path, form in FORMS.items():
        for full in (f"/v1/{path}", f"/v1/papers/{{id}}/{path}"):
            operation = paths[full]["get"]
            assert form.media_type in operation["responses"]["200"]["content"]
            assert form.name in operation["summary"]
            [forms] = [one["schema"] for one in operation["parameters"] if one["name"] == "cite_keys"]
            assert (forms["enum"], forms["default"]) == (["cocite", "better-bibtex"], "cocite")
            assert "422" in operation["responses"]
