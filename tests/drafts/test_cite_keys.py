"""Keys of recommended papers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.records import PaperRecord
from cocite.drafts.cite_keys import CiteKeys

PAPERS = [PaperRecord(f"W{i}", "Parsing trees", year=1999, authors=("Ann Lee",)) for i in range(9)]


@given(
    st.lists(st.lists(st.sampled_from(PAPERS), unique_by=lambda paper: paper.id), max_size=6),
    st.sampled_from(["cocite", "better-bibtex", "auth.lower + year + veryshorttitle.lower"]),
)
def test_a_paper_has_one_key_and_a_key_one_paper(answers: list[list[PaperRecord]], form: str) -> None:
    keys = CiteKeys({"W0": "own"}, taken=["lee1999parsing", "other"], form=form)
    given_keys = [
        (paper.id, key) for answer in answers for paper, key in zip(answer, keys.of(answer), strict=True)
    ]
    by_paper = dict(given_keys)
    assert all(by_paper[id_] == key for id_, key in given_keys)
    assert len(set(by_paper.values())) == len(by_paper)
    assert by_paper.get("W0", "own") == "own"
    assert not {"lee1999parsing", "other"} & set(by_paper.values())
