"""Where a paper is shown on the web."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.paper_address import paper_address


@pytest.mark.parametrize(
    ("id_", "doi", "address"),
    [
        ("P02-1040", "https://doi.org/10.3115/1", "https://doi.org/10.3115/1"),
        ("x", "10.1/a(b)?c#d", "https://doi.org/10.1/a%28b%29%3Fc%23d"),
        ("2020.acl-main.12", "", "https://aclanthology.org/2020.acl-main.12"),
        ("1706.03762v2", "", "https://arxiv.org/abs/1706.03762"),
        ("cs/0703001", "", "https://arxiv.org/abs/cs/0703001"),
        ("ab" * 20, "", f"https://www.semanticscholar.org/paper/{'ab' * 20}"),
        ("CorpusId:42", "", "https://www.semanticscholar.org/p/42"),
        ("https://openalex.org/W12345", "", "https://openalex.org/W12345"),
        ("vaswani2017attention", "", ""),
        ("P02-1040\n", "", ""),
        ("javascript:alert(1)", "", ""),
    ],
)
def test_the_best_place(id_: str, doi: str, address: str) -> None:
    assert paper_address(id_, doi) == address


@given(st.text(max_size=40), st.text(max_size=40))
def test_an_address_leads_nowhere_else(id_: str, doi: str) -> None:
    assert re.fullmatch(r"(?:https://[a-z.]+/[\w.~%/:-]*)?", paper_address(id_, doi), re.ASCII)
