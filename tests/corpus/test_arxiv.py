from __future__ import annotations

import pytest

from cocite.corpus.arxiv import Preprint, preprint_of
from cocite.corpus.records import PaperRecord


@pytest.mark.parametrize(
    ("paper", "preprint"),
    [
        (PaperRecord("arXiv:1706.03762v5", "T"), Preprint("1706.03762")),
        (PaperRecord("x", "T", doi="10.48550/arXiv.1810.04805"), Preprint("1810.04805")),
        (PaperRecord("math.GT/0309136", "T"), Preprint("math.GT/0309136", "math.GT")),
        (PaperRecord("x", "T", venue="CoRR abs/1706.03762"), Preprint("1706.03762")),
        (PaperRecord("P03-1021", "T", doi="10.1000/182.1234", venue="2019.12 of arXivs"), None),
    ],
)
def test_a_preprint_is_found_by_doi_id_or_venue(paper: PaperRecord, preprint: Preprint | None) -> None:
    assert preprint_of(paper) == preprint
