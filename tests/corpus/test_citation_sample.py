from __future__ import annotations

from pathlib import Path

import pytest
from helpers.records import hits, make, paper, rejects

from cocite.corpus import citation_sample


def test_unknown_citations_beyond_the_sample_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(citation_sample, "SIZE", 20)
    corpus = make(tmp_path, [paper("a", *(f"x{i}" for i in range(100)))], rejects=tmp_path / "r.jsonl")
    assert hits(corpus) == {"unknown_citation": 100}
    assert 1 <= len(rejects(tmp_path / "r.jsonl")) <= 20
