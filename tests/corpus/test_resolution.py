from __future__ import annotations

import numpy as np
import pyarrow as pa

from cocite.corpus.citation_sample import CitationSample, SampledCitation
from cocite.corpus.idtable import IdTable
from cocite.corpus.resolution import Resolution, keep_late, keep_unknown
from cocite.corpus.rule_log import LISTED, RuleLog
from cocite.corpus.staging import CONTEXT_SPILL, SENTENCE_SPILL


def resolution(**options: int | None) -> Resolution:
    table = IdTable()
    table.add(["a", "b", "new"])
    years = np.array([1990, 0, 2000], np.int16)
    return Resolution(table, years, **{"later_years": 1, "old_papers": 0} | options)  # type: ignore[arg-type]


def hashed(*ids: str) -> list[int]:
    return [int(value) for value in IdTable.hashes(ids)]


def test_links_to_later_papers_are_told_and_those_of_unknown_years_kept() -> None:
    citing, cited = IdTable.hashes(["a", "a", "b", "?", "a"]), IdTable.hashes(["new", "b", "new", "a", "?"])
    found = resolution().links(citing, cited)
    assert [row.tolist() for row in found.pairs] == [[0, 1], [1, 2]]
    assert (found.late, found.late_at.tolist()) == ([(10, 0, 2)], [0])
    assert found.unknown_at.tolist() == [False] * 4 + [True]
    assert found.counts == {
        "unknown_citing": 1, "unknown_citation": 1, "next_year_citation": 0, "later_citation": 1,
    }  # fmt: skip
    assert len(resolution(later_years=None).links(citing, cited).pairs[0]) == 3


def test_contexts_lose_members_that_no_paper_has() -> None:
    place = {"sentence": 0, "section": "", "group": 0, "unresolved": 1, "file": 0, "line": 1}
    texts = [("k", "a", ["b", "?"]), ("l", "?", ["a"]), ("m", "a", ["?"]), ("n", "new", ["b", "a"])]
    values = [
        {"id": id_, "citing": hashed(citing)[0], "cited": hashed(*cited), "text": "t"} | place
        for id_, citing, cited in texts
    ]
    found = resolution().contexts(pa.RecordBatch.from_pylist(values, schema=CONTEXT_SPILL))
    assert found.batch["id"].to_pylist() == ["k", "n"]
    assert found.batch["cited"].to_pylist() == [[1], [0, 1]]
    assert found.batch["unresolved"].to_pylist() == [2, 1]
    assert {i: rule for i, (rule, _) in found.faults.items()} == {
        1: "context_of_unknown_paper", 2: "context_without_cited",
    }  # fmt: skip
    assert [row.tolist() for row in found.links] == [[0, 2, 2], [1, 0, 1]]
    assert [row.tolist() for row in found.together] == [[0, 1], [1, 0]]
    assert found.unknown_cited == 2


def test_sentences_of_old_papers_are_left_out() -> None:
    values = [
        {"paper": id_, "position": 0, "section": "", "text": "t", "file": 0, "line": 1}
        for id_ in hashed("a", "new")
    ]
    found = resolution(old_papers=2).sentences(pa.RecordBatch.from_pylist(values, schema=SENTENCE_SPILL))
    assert (found.rows.tolist(), found.faults[0][0]) == ([2], "sentence_of_old_paper")


def test_what_is_kept_of_the_hits() -> None:
    log, sample = RuleLog(), CitationSample()
    sample.add(7, SampledCitation("a", "x", "links.jsonl", 3))
    keep_unknown(log, sample, [7, 8, 7])
    assert [entry["cited"] for entry in log.samples["unknown_citation"]] == ["x"]
    keep_late(log, [(3, 1, 2)] * (LISTED + 5))
    assert log.room("later_citation") == 0
    assert (
        log.samples["later_citation"][0]["reason"] == "the cited paper is 3 years later than the citing one"
    )
