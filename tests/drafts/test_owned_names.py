"""Which papers an author has, by ids and DOIs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts.library import Library
from cocite.drafts.owned_names import OwnedNames

BLEU = PaperRecord("P02-1040", "BLEU", doi="10.3115/1073083.1073135")


@pytest.mark.parametrize(
    ("given", "paper"),
    [
        ("P02-1040", BLEU),
        ("https://aclanthology.org/P02-1040.pdf", BLEU),
        ("doi:10.3115/1073083.1073135", BLEU),
        ("HTTPS://DOI.ORG/10.3115/1073083.1073135", BLEU),
        ("10.18653/v1/P02-1040", BLEU),
        ("N19-1423", PaperRecord("W1", "BERT", doi="10.18653/V1/N19-1423")),
        ("arXiv:1706.03762v5", PaperRecord("W1", "Attention", doi="10.48550/arXiv.1706.03762")),
        ("https://arxiv.org/abs/1706.03762", PaperRecord("1706.03762", "Attention")),
        ("CorpusId:13756489", PaperRecord("S2:13756489", "Attention")),
        ("https://www.semanticscholar.org/p/13756489", PaperRecord("13756489", "Attention")),
        ("https://openalex.org/W2", PaperRecord("W2", "Attention")),
    ],
)
def test_a_paper_is_known_by_each_of_its_names(given: str, paper: PaperRecord) -> None:
    owned = OwnedNames(["", "  ", "no-such-paper", f" {given}\n"])
    assert owned.has(paper)
    assert not owned.has(PaperRecord("other", paper.title, doi="10.1/other"))


def test_it_knows_the_papers_that_a_list_of_ids_names(tmp_path: Path) -> None:
    corpus = starter_corpus()
    papers = corpus.papers_at(list(range(len(corpus))))
    ids = [paper.doi or paper.id for paper in papers[::3]]
    (tmp_path / "have.txt").write_text("\n".join(ids))
    rows = Library.read([tmp_path / "have.txt"], corpus).rows
    owned = OwnedNames(ids)
    assert tuple(row for row, paper in enumerate(papers) if owned.has(paper)) == rows


def test_hostile_ids_take_no_time() -> None:
    # A pattern would try each question mark against each line's end.
    owned = OwnedNames(["arxiv.org/abs/" + "?" * 490_000 + "\nx", "a" * 500_000, "\0"])
    assert not owned.has(BLEU)
