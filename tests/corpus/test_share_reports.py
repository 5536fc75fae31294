from __future__ import annotations

import numpy as np

from cocite.corpus.citation_sample import CitationSample
from cocite.corpus.records import CitationRecord, PaperRecord
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.share import Share, ShareBuilder
from cocite.corpus.share_reports import kept_links, kept_rows, report_share, sample_citations
from cocite.corpus.store import id_hash
from cocite.corpus.streams import SourcePosition


def share() -> Share:
    builder = ShareBuilder()
    builder.add(PaperRecord("a", "A", citations=("b",)), SourcePosition("x.jsonl", 1))
    builder.add(PaperRecord("a", "A", citations=("a", "c")), SourcePosition("x.jsonl", 2))
    builder.add(CitationRecord("b", "d"), SourcePosition("x.jsonl", 3))
    return builder.take()


def test_hits_of_a_repeated_papers_links_do_not_count() -> None:
    log = RuleLog()
    made = share()
    report_share(made, np.array([True, False]), np.empty(0, bool), log, lines=10)
    assert (log.counts["duplicate_id"], log.counts["self_citation"]) == (1, 0)
    assert log.samples["duplicate_id"][0]["line"] == 12


def test_links_of_a_repeated_paper_are_not_kept() -> None:
    links = share().tables["links"]
    keep = kept_links(links, np.array([True, False]))
    assert keep.tolist() == [True, False, True]
    assert kept_rows(links, keep)["citing_id"].to_pylist() == [b"a", b"b"]


def test_citations_are_sampled_with_their_places() -> None:
    sample = CitationSample()
    made = share()
    sample_citations(sample, made.tables["links"], made.files, lines=10)
    citation = sample.pop(id_hash("d"))
    assert citation is not None
    assert (citation.citing, citation.cited, citation.file, citation.line) == ("b", "d", "x.jsonl", 13)
