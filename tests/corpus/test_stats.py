from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.records import make, paper
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.records import ContextRecord
from cocite.corpus.stats import describe, paper_facts
from cocite.errors import NotFoundError


def test_counts_of_a_small_corpus(tmp_path: Path) -> None:
    facts = describe(make(tmp_path, meta={"source": "tiny", "format": "records"}))
    assert (facts["source"], facts["format"]) == ("tiny", "records")
    assert facts["counts"] == {
        "papers": 4,
        "with an abstract": 1,
        "citations": 6,
        "contexts": 2,
        "contexts citing two or more": 1,
        "papers with contexts": 2,
        "sentences": 3,
        "papers with a body": 2,
        "co-cited pairs": 3,
    }
    assert facts["years"] == {"1999": 1, "2000": 1, "2001": 1, "2002": 1}
    assert facts["splits"] == {"none": 4, "train": 0, "dev": 0, "test": 0}
    assert facts["by_split"] == {
        "links": {"none": 6, "train": 0, "dev": 0, "test": 0},
        "contexts": {"none": 2, "train": 0, "dev": 0, "test": 0},
    }
    assert facts["out_degree"] == {
        "none": 1,
        "mean": 1.5,
        "median": 1.5,
        "90 %": 2.7,
        "99 %": pytest.approx(2.97),
        "most": 3,
    }


def test_an_empty_corpus_has_no_degrees(tmp_path: Path) -> None:
    facts = describe(make(tmp_path, []))
    assert facts["counts"]["papers"] == 0
    assert facts["out_degree"] == facts["in_degree"] == facts["years"] == {}


def test_counts_add_up(synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(300, seed=5, split=(3, 1))
    facts = describe(corpus)
    assert sum(facts["years"].values()) == sum(facts["splits"].values()) == len(corpus)
    assert sum(facts["by_split"]["links"].values()) == facts["counts"]["citations"]
    assert sum(facts["by_split"]["contexts"].values()) == facts["counts"]["contexts"]
    assert facts["in_degree"]["mean"] == facts["out_degree"]["mean"]
    of_train = np.asarray(corpus.split == 1)
    assert facts["by_split"]["links"]["train"] == corpus.cites.degrees[of_train].sum()


def test_a_paper_is_shown_with_its_neighbours(tmp_path: Path) -> None:
    records = [
        *(paper(name) for name in "abc"),
        paper("d", "a", "b", "c", year=0),
        *(
            ContextRecord(f"c{i}", "d", cited, f"text {i}")
            for i, cited in enumerate([("a", "b"), ("a", "b", "c")])
        ),
    ]
    corpus = make(tmp_path, records)
    facts = paper_facts(corpus, "a")
    assert facts["cited_by"] == {"total": 1, "papers": [["d", "Title of d"]]}
    # The paper that is cited together with it most often comes first.
    assert [id_ for id_, _ in facts["cocited_with"]["papers"]] == ["b", "c"]
    assert facts["contexts"] == [{"citing": "d", "text": "text 0"}, {"citing": "d", "text": "text 1"}]
    cut = paper_facts(corpus, "d", limit=2)
    assert cut["cites"]["total"] == 3
    assert len(cut["cites"]["papers"]) == 2
    assert cut["paper"]["year"] == "unknown"
    with pytest.raises(NotFoundError, match="no paper has the id 'z'"):
        paper_facts(corpus, "z")


def test_a_store_without_bodies_counts_none(tmp_path: Path) -> None:
    whole, without = (
        describe(make(tmp_path / name, bodies=name == "whole")) for name in ("whole", "without")
    )
    assert whole["counts"].keys() - without["counts"].keys() == {"sentences", "papers with a body"}
    assert without["out_degree"] == whole["out_degree"]
