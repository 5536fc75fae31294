from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.records import (
    records_of,
    write_lines,
)
from helpers.s2orc import full_text

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.records import CitationRecord, ContextRecord, Malformed, PaperRecord, SentenceRecord
from cocite.errors import InputError


@pytest.mark.parametrize("version", [1, 2])
def test_s2orc_alone(tmp_path: Path, version: int) -> None:
    path = write_lines(tmp_path / "s2orc.jsonl.gz", [full_text(version)])
    assert detect(path) == "s2"
    found = records_of(path)
    assert found[0].id == "10"
    assert (found[0].title, found[0].abstract) == ("A title", "We sum up.")
    assert [r.cited for r in found if isinstance(r, CitationRecord)] == ["11", "12", "13"]
    contexts = [r for r in found if isinstance(r, ContextRecord)]
    assert [c.cited for c in contexts] == [("11", "12"), ("13",)]
    assert contexts[0].text == "As shown [ TARGETCIT , e.g. by OTHERCIT, it works. Others [OTHERCIT] differ."
    assert {c.section for c in contexts} == {"Intro"}
    sentences = [r for r in found if isinstance(r, SentenceRecord)]
    assert [s.text for s in sentences] == [
        "As shown [[[CIT:0]], e.g. by [[CIT:1]], it works.",
        "Others [[[CIT:2]]] differ.",
    ]
    assert [c.sentence for c in contexts] == [0, 0]


def test_s2ag_papers_with_abstracts_citations_and_full_texts(tmp_path: Path) -> None:
    def listed(id_: int) -> dict[str, Any]:
        return {
            "corpusid": id_,
            "title": f"P{id_}",
            "year": 2000 + id_,
            "authors": [{"authorId": "1", "name": "N"}],
            "venue": "",
            "journal": {"name": "J"},
            "s2fieldsofstudy": [{"category": "Medicine"}, {"category": "Medicine"}],
            "externalids": {"DOI": "10.1/p"},
        }

    write_lines(tmp_path / "papers-part0.jsonl.gz", [listed(10), listed(11)])
    write_lines(
        tmp_path / "abstracts-part0.jsonl", [{"corpusid": 11, "openaccessinfo": {}, "abstract": "Of eleven."}]
    )
    write_lines(
        tmp_path / "citations-part0.jsonl",
        [
            {"citingcorpusid": 11, "citedcorpusid": 10, "contexts": ["as in [1]"], "isinfluential": True},
            {"citingcorpusid": 11, "citedcorpusid": None},
        ],
    )
    found = records_of(tmp_path)
    first, second = [r for r in found if isinstance(r, PaperRecord)]
    assert second == PaperRecord("11", "P11", "Of eleven.", 2011, "J", ("N",), ("Medicine",), "10.1/p")
    assert first.abstract == ""
    assert [r for r in found if isinstance(r, ContextRecord)] == [
        ContextRecord("11/0", "11", ("10",), "as in [1] TARGETCIT")
    ]
    assert [r.rule for r in found if isinstance(r, Malformed)] == ["unmatched_citation"]
    write_lines(tmp_path / "s2orc.jsonl", [full_text(1)])
    found = records_of(tmp_path)
    assert next(r for r in found if isinstance(r, PaperRecord)).abstract == "We sum up."
    assert [r.citing for r in found if isinstance(r, ContextRecord)] == ["10", "10"]
    assert [r for r in found if isinstance(r, CitationRecord)] == [CitationRecord("11", "10")]


def test_s2_files_that_lack_their_papers_are_refused(tmp_path: Path) -> None:
    abstracts = [{"corpusid": i, "openaccessinfo": {}, "abstract": f"Of {i}."} for i in range(7)]
    write_lines(tmp_path / "abstracts.jsonl", abstracts)
    write_lines(tmp_path / "citations.jsonl", [{"citingcorpusid": 1, "citedcorpusid": 0}])
    with pytest.raises(InputError, match="holds citations and abstracts but no papers"):
        open_source(tmp_path)
    listed = [{"corpusid": i, "title": f"P{i}", "abstract": "its own" if i == 1 else None} for i in range(3)]
    write_lines(tmp_path / "papers.jsonl", [*listed, {"corpusid": 9, "abstract": "astray"}])
    (tmp_path / "broken.jsonl").write_text("no\nJSON\n")
    corpus = build(open_source(tmp_path), tmp_path / "store")
    assert [p.abstract for p in corpus.papers_at(range(3))] == ["Of 0.", "its own", "Of 2."]
    hits = {name: n for name, n in corpus.counts["rules"].items() if n}
    assert hits == {"abstract_of_unknown_paper": 4, "malformed": 3}
