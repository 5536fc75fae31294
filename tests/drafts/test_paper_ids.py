"""Papers of a corpus by the ids that people write; ``test_library.py`` has every form, a line of a list each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.paper_ids import own_ids, paper_of_id, rows_of_ids, rows_of_papers

PAPERS = [
    PaperRecord("P02-1040", "BLEU: a Method", doi="10.3115/1073083.1073135"),
    PaperRecord("W1", "Attention Is All You Need", doi="10.48550/arXiv.1706.03762"),
    PaperRecord("arXiv:1810.04805", "BERT"),
    PaperRecord("2003.10555", "ELECTRA"),
    PaperRecord("W4", "Layer Normalization", venue="arXiv preprint arXiv:1607.06450 [stat.ML]"),
    PaperRecord("two words", "An id with a space"),
    PaperRecord("S2:13756490", "Of Semantic Scholar"),
    PaperRecord("10.1000/182", "An id that is a DOI", doi="10.1000/183"),
    PaperRecord("W8", "Whose DOI is an id", doi="10.1000/182"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(PAPERS, tmp_path_factory.mktemp("ids") / "corpus")


NAMED = [
    ("P02-1040", 0),
    ("https://aclanthology.org/P02-1040.pdf", 0),
    ("https://doi.org/10.3115/1073083.1073135", 0),
    ("arXiv:1706.03762v5", 1),
    ("https://arxiv.org/abs/1706.03762", 1),
    ("1810.04805", 2),
    ("10.48550/arXiv.1810.04805", 2),
    ("https://arxiv.org/pdf/2003.10555v1.pdf", 3),
    ("two words", 5),
    ("CorpusId:13756490", 6),
    ("https://api.semanticscholar.org/CorpusID:13756490", 6),
    ("10.1000/182", 7),  # what the corpus itself calls so comes first
    ("https://doi.org/10.1000/182", 8),
    ("10.1000/183", 7),
    ("10.1/none", -1),
    ("1706.0376", -1),
    ("BERT", -1),
    ("", -1),
]


@pytest.mark.parametrize("scan", [True, False])
def test_ids_of_all_forms_are_found_at_once(corpus: Corpus, scan: bool) -> None:
    rows = rows_of_ids([text for text, _ in NAMED], corpus, scan=scan)
    assert rows.dtype == np.int32
    wanted = [corpus.row(PAPERS[i].id) if i >= 0 else -1 for _, i in NAMED]
    assert dict(zip(NAMED, rows.tolist(), strict=True)) == dict(zip(NAMED, wanted, strict=True))


def test_a_number_in_a_venue_is_found_where_all_papers_are_looked_at(corpus: Corpus) -> None:
    assert corpus.ids(rows_of_ids(["arXiv:1607.06450"], corpus)) == ["W4"]
    assert rows_of_ids(["arXiv:1607.06450"], corpus, scan=False).tolist() == [-1]
    assert rows_of_ids([], corpus).tolist() == []


def test_own_ids_keep_what_is_unknown_and_every_place(corpus: Corpus) -> None:
    asked = ["gone", "arXiv:1607.06450", "W4", "10.48550/arXiv.1706.03762"]
    assert own_ids(asked, corpus) == ["gone", "W4", "W4", "W1"]


def test_the_key_of_an_entry_is_no_id(corpus: Corpus) -> None:
    papers = [PaperRecord("W1", "BLEU: a Method"), PaperRecord("W1", "")]
    found = rows_of_papers(papers, np.array([False, True]), corpus)
    assert corpus.ids(found) == ["P02-1040", "W1"]


def test_an_address_is_taken_off() -> None:
    assert paper_of_id("https://api.openalex.org/works/w12").id == "W12"
    assert paper_of_id("arxiv.org/pdf/cs/0205070v1.pdf").id == "arXiv:cs/0205070v1"
    assert paper_of_id("doi: 10.1000/182").doi == "10.1000/182"


@given(st.lists(st.text(max_size=60), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_any_text_is_answered(corpus: Corpus, texts: list[str]) -> None:
    rows = rows_of_ids(texts, corpus)
    assert rows.shape == (len(texts),)
    assert (rows < len(corpus)).all()
