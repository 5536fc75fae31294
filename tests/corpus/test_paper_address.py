"""Where a paper is shown on the web."""

from __future__ import annotations

import re

import pytest
from helpers.paper_addresses import ADDRESSES
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.paper_address import paper_address


@pytest.mark.parametrize(("id_", "doi", "address"), ADDRESSES)
def test_the_best_place(id_: str, doi: str, address: str) -> None:
    assert paper_address(id_, doi) == address


@given(st.text(max_size=40), st.text(max_size=40))
def test_an_address_leads_nowhere_else(id_: str, doi: str) -> None:
    assert re.fullmatch(r"(?:https://[a-z.]+/[\w.~%/:-]*)?", paper_address(id_, doi), re.ASCII)
