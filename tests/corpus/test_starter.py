from __future__ import annotations

from pathlib import Path

from cocite.corpus.records import PaperRecord
from cocite.corpus.splits import Split
from cocite.corpus.starter import build_starter, records


def test_the_starter_corpus_is_sound(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "starter")
    assert len(corpus) >= 200
    assert {name: n for name, n in corpus.counts["rules"].items() if n and name != "next_year_citation"} == {}
    papers = [r for r in records() if isinstance(r, PaperRecord)]
    assert len(papers) == len(corpus)
    assert all(p.year and p.venue and p.authors and len(p.abstract) > 80 for p in papers)
    assert sum(len(p.citations) for p in papers) == len(corpus.cites.indices)
    split = Split.of(corpus)
    cites = corpus.cites.degrees > 0
    assert min((mask & cites).sum() for mask in (split.train, split.dev, split.test)) >= 30
