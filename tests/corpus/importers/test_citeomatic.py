from __future__ import annotations

from pathlib import Path

from helpers.records import (
    papers_of,
    write_lines,
)

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.records import PaperRecord
from cocite.corpus.splits import by_year_name


def test_citeomatic_lines(tmp_path: Path) -> None:
    own = {
        "id": "1",
        "title": "T",
        "abstract": "A",
        "authors": ["X"],
        "venue": "V",
        "year": 2017,
        "out_citations": ["2"],
        "key_phrases": ["k"],
        "in_citations": [],
    }
    older = {
        "id": "2",
        "title": "U",
        "paperAbstract": "B",
        "authors": [{"name": "Y", "ids": []}],
        "outCitations": [],
        "keyPhrases": ["m"],
        "year": None,
    }
    path = write_lines(tmp_path / "corpus.json", [own, older])
    assert detect(path) == "citeomatic"
    assert papers_of(path) == [
        PaperRecord("1", "T", "A", 2017, "V", ("X",), ("k",), citations=("2",)),
        PaperRecord("2", "U", "B", authors=("Y",), keyphrases=("m",)),
    ]


def test_the_published_dblp_and_pubmed_corpora(tmp_path: Path) -> None:
    """As the authors' ``convert_kdd_to_citeomatic.py`` writes them, with the years of their splits."""
    document = {
        "title": "Learning to rank",
        "abstract": "A method.",
        "authors": ["tie-yan liu"],
        "out_citations": [],
        "year": 2007,
        "id": "13",
        "venue": "",
        "in_citation_count": 2,
        "out_citation_count": 0,
        "key_phrases": ["ranking function"],
        "date": None,
    }
    years = {"13": 2007, "14": 2008, "15": 2011}
    lines = [
        document | {"id": id_, "year": year, "out_citations": [] if id_ == "13" else ["13", id_]}
        for id_, year in years.items()
    ]
    path = write_lines(tmp_path / "corpus.json", lines)
    path.write_text(path.read_text() + '{"id": "16", "title": "No end"\n')
    assert detect(path) == "citeomatic"
    corpus = build(open_source(path), tmp_path / "store", split=by_year_name(2007, 2008))
    assert [paper.split for paper in corpus.papers_at(range(3))] == ["train", "dev", "test"]
    assert [paper.citations for paper in corpus.papers_at(range(3))] == [(), ("13",), ("13",)]
    assert corpus.paper(0).keyphrases == ("ranking function",)
    assert corpus.counts["rules"]["malformed"] == 1
    assert corpus.counts["rules"]["self_citation"] == 2
