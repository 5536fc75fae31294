"""CSL-JSON that says what the corpus says."""

from __future__ import annotations

import json
import warnings
from typing import Any

from citeproc.source.json import CiteProcJSON
from helpers.odd_papers import of_real_shape
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.bibtex import citation_keys
from cocite.corpus.csl_json import entries
from cocite.corpus.records import PaperRecord


def test_an_item() -> None:
    paper = PaperRecord(
        "P03-1021",
        "Minimum Error\nRate <b> & {Training}",
        year=2003,
        venue="ACL",
        authors=("Ludwig van Beethoven", "Martin King, Jr.", "Google, Inc."),
        keyphrases=("MERT", "tuning, of weights"),
        doi="10.3115/1075096.1075117",
    )
    assert json.loads(entries([paper, PaperRecord("1706.03762", "Attention", venue="TACL")])) == [
        {
            "id": "beethoven2003minimum",
            "type": "paper-conference",
            "title": "Minimum Error Rate <b> & {Training}",
            "author": [
                {"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
                {"family": "King", "given": "Martin", "suffix": "Jr."},
                {"literal": "Google, Inc."},
            ],
            "issued": {"date-parts": [[2003]]},
            "container-title": "ACL",
            "DOI": "10.3115/1075096.1075117",
            "keyword": "MERT; tuning, of weights",
        },
        {
            "id": "anonattention",
            "type": "article-journal",
            "title": "Attention",
            "container-title": "TACL",
            "URL": "https://arxiv.org/abs/1706.03762",
        },
    ]


def _name(author: dict[str, str]) -> str:
    parts = [author.get(part, "") for part in ("given", "non-dropping-particle", "family", "suffix")]
    return author.get("literal") or " ".join(filter(None, parts))


def check(papers: list[PaperRecord]) -> None:
    items: list[dict[str, Any]] = json.loads(entries(papers))
    assert [item["id"] for item in items] == citation_keys(papers)
    for item, paper in zip(items, papers, strict=True):
        assert item.get("title", "") == " ".join(paper.title.split())
        assert item.get("issued", {"date-parts": [[0]]}) == {"date-parts": [[paper.year]]}
        assert item.get("container-title", "") == " ".join(paper.venue.split())
        assert item.get("DOI", "") == paper.doi
        # The comma before "Jr." stands in no part of a name.
        assert [_name(author).replace(", Jr", " Jr") for author in item.get("author", [])] == [
            author.replace(", Jr", " Jr") for author in paper.authors
        ]


def test_a_thousand_entries_of_real_shape_come_back() -> None:
    check(of_real_shape(1000))


def test_citeproc_reads_a_thousand_entries_of_real_shape() -> None:
    papers = of_real_shape(1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of variables that it knows in another spelling
        source = CiteProcJSON(json.loads(entries(papers)))
    assert len(source) == 1000
    for paper, key in zip(papers, citation_keys(papers), strict=True):
        found = source[key]
        assert str(found.get("title", "")) == " ".join(paper.title.split())
        assert str(found.get("container_title", "")) == " ".join(paper.venue.split())
        assert str(found.get("DOI", "")) == paper.doi
        assert found["issued"].year == paper.year if paper.year else "issued" not in found
        parts = [name.parts() for name in found.get("author", [])]
        names = [
            " ".join(filter(None, (given, small, family, end))) for given, family, _, small, end in parts
        ]
        assert [name.replace(", Jr", " Jr") for name in names] == [
            author.replace(", Jr", " Jr") for author in paper.authors
        ]


def test_a_thousand_synthetic_papers_come_back(synthetic: SyntheticCorpora) -> None:
    check(synthetic(1000, seed=4).papers_at(range(1000)))
