"""Headings and the sections that gaps stand in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cocite.protocols import Query
from cocite.systems.baselines.sections import KINDS, UNKNOWN, query_sections, section_kinds
from cocite.text.queries import context_queries


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("1 Introduction", "introduction"),
        ("1 In t roduct ion", "introduction"),
        ("2 RELATED WORK", "related work"),
        ("2. Previous Work", "related work"),
        ("4.1 Experimental Setup", "experiments"),
        ("6 Discussion", "conclusion"),
        ("Results and Discussion", "conclusion"),
        ("3 The Model", "body"),
        ("3.2", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_each_heading_has_a_kind(heading, kind) -> None:
    assert KINDS[section_kinds(pa.array([heading], pa.string()))[0]][0] == kind


def test_a_query_has_the_section_of_its_sentence(citing_corpus) -> None:
    positions = np.flatnonzero(citing_corpus.context_cited.degrees > 0)[:30]
    queries = context_queries(citing_corpus, positions)
    assert all(query.sentence >= 0 for query in queries)
    expected = section_kinds(citing_corpus.contexts.table.column("section").take(positions).combine_chunks())
    np.testing.assert_array_equal(query_sections(citing_corpus, queries), expected)
    assert (expected != UNKNOWN).all()


def test_without_a_sentence_in_the_corpus_it_is_unknown(citing_corpus) -> None:
    paper = int(citing_corpus.context_citing[0])
    queries = [
        Query("outside", context="words"),
        Query("no sentence", paper=paper),
        Query("beyond", paper=paper, sentence=10_000),
    ]
    assert query_sections(citing_corpus, queries).tolist() == [UNKNOWN] * 3
