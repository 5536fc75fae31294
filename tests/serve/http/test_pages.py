"""Tokens of pages: they come back as they were, and whatever was changed in one is refused or is a page of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.pages import Page, digest

PAGES = st.builds(
    Page,
    model=st.text(max_size=16),
    index=st.text(max_size=9),
    request=st.text(max_size=24),
    offset=st.integers(1, 100_000),
    read=st.one_of(st.none(), st.integers(0, 100_000)),
)
PAGE = Page(model="5f0c", index="000001", request="9b1d", offset=20, read=None)


@given(PAGES)
def test_a_page_comes_back_as_it_was(page: Page) -> None:
    token = page.token()
    assert Page.parse(token) == page
    assert token.replace("-", "").replace("_", "").isalnum(), "it needs no escapes in an address"


@given(st.one_of(st.text(max_size=200), st.binary(max_size=99).map(lambda value: value.hex())))
def test_anything_else_is_no_page(token: str) -> None:
    with pytest.raises(InputError, match="page: this is no `next` of an answer"):
        Page.parse(token)


@given(PAGES, st.data())
def test_a_damaged_token_is_refused_or_is_another_page(page: Page, data: st.DataObject) -> None:
    token = page.token()
    at = data.draw(st.integers(0, len(token) - 1))
    damaged = token[:at] + data.draw(st.sampled_from("AZaz09-_é \n")) + token[at + 1 :]
    try:
        found = Page.parse(damaged)
    except InputError:
        return
    assert 1 <= found.offset <= 100_000


def test_a_page_is_of_its_request_and_of_versions_that_are_served() -> None:
    PAGE.check("5f0c", "000001", "9b1d", depth=300)
    for model, index in (("other", "000001"), ("5f0c", "000002")):
        with pytest.raises(
            HTTPException, match="410: The page is of model 5f0c and index 000001, which are not served"
        ):
            PAGE.check(model, index, "9b1d", depth=300)
    with pytest.raises(InputError, match="page: it belongs to another request"):
        PAGE.check("5f0c", "000001", "other", depth=300)
    with pytest.raises(InputError, match="page: it belongs to another request"):
        PAGE.check("5f0c", "000001", "9b1d", depth=20)


def test_the_digest_is_of_all_that_orders_the_papers() -> None:
    query = Query("q", title="Parsing")
    first = digest(query, Options())
    assert digest(query, Options(top_k=3, offset=9, evidence=False)) == first
    others = [
        digest(Query("q", title="Parsing trees"), Options()),
        digest(Query("q", title="Parsing", year=2010), Options()),
        digest(query, Options(depth=20)),
        digest(query, Options(exclude=(3,))),
        digest(query, Options(weights=(("sentence", 0.5),))),
        digest(query, Options(popularity=0.5)),
        digest(query, Options(diversity=0.5)),
    ]
    assert len({first, *others}) == 8
