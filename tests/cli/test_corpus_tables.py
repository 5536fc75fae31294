from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.records import make, paper

from cocite.cli.corpus_tables import print_characteristics, print_rules, print_stats
from cocite.corpus.stats import describe


def cells(out: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]


def test_characteristics_stand_beside_those_of_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = make(
        tmp_path,
        [
            paper("a", year=2000, split="train"),
            paper("b", "a", year=2001, split="dev"),
            paper("c", year=2002),
        ],
    )
    print_characteristics("store", corpus, as_json=False)
    rows = cells(capsys.readouterr().out)
    assert ["documents in corpus", "3", "6.9 million", "over 50,000", "over 45,000"] in rows
    assert ["training set [years]", "1 [2000–2000]", "5.5 million [1991–2014]", "–", "–"] in rows
    print_characteristics("store", corpus, as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["version"] == corpus.version
    assert facts["characteristics"]["dev"] == {"papers": 1, "first_year": 2001, "last_year": 2001}
    assert facts["characteristics"]["test"] == {"papers": 0, "first_year": None, "last_year": None}
    assert facts["published"]["PubMed"]["out_citations"] == "17"


def test_counts_and_hits_of_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = make(tmp_path, [paper("a", year=1999), paper("b", "a", "?", year=2001)])
    print_stats("store", describe(corpus))
    out = capsys.readouterr().out
    assert ["papers", "2"] in cells(out)
    assert "a link to a paper that the source does not hold" in out
    assert ["2001", "1"] in [line.split()[:2] for line in out.replace("│", " ").splitlines()]
    print_rules({"unknown_citation": 0}, {}, [])
    assert capsys.readouterr().out == "no rule was hit: every record and link is in the store\n"


def test_the_rules_of_a_store_whose_fields_are_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    field = {"field": "refs", "record": "paper", "count": 1200, "first": "x:1", "suggestion": "citations"}
    samples = {"unknown_field": [{"file": "x", "line": 1}]}
    print_rules({"unknown_field": 1200}, samples, [field])
    assert ["refs", "paper", "1,200", "x:1", "citations"] in cells(capsys.readouterr().out)
