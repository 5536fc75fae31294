from __future__ import annotations

import pytest

from cocite.corpus import hits
from cocite.corpus.hits import Hit, ShareLog, StrictHitError
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.streams import SourcePosition

AT = SourcePosition("x.jsonl", 3)


def test_a_hit_is_reported_as_often_as_it_was_met() -> None:
    log = RuleLog()
    Hit(0, "self_citation", "the paper cites itself", "x.jsonl", 3, {"id": "a"}, times=3, more=2).report(log)
    assert (log.counts["self_citation"], len(log.samples["self_citation"])) == (5, 3)


def test_a_share_lists_no_more_hits_than_the_import_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits, "LISTED", 4)
    log = ShareLog()
    for sequence in range(9):
        log.sequence = sequence
        log.report("absurd_year", f"the year {sequence}", AT)
        log.report("unread_file", f"file {sequence}", AT)
        log.report("empty_title", f"paper {sequence}", AT)
    taken = log.take()
    assert [sum(hit.rule == rule for hit in taken) for rule in ("absurd_year", "unread_file")] == [5, 4]
    whole = RuleLog()
    for hit in taken:
        hit.report(whole)
    assert {whole.counts[rule] for rule in ("absurd_year", "unread_file", "empty_title")} == {9}
    assert not log.hits


def test_unknown_fields_are_added_up_by_name() -> None:
    log, whole = ShareLog(), RuleLog()
    for line in (1, 2):
        log.report_unknown_fields("paper", ["colour", "refs"], SourcePosition("x.jsonl", line))
    for hit in log.take():
        hit.moved(10, 0).report(whole)
    counts = [(entry["field"], entry["count"], entry["first"]) for entry in whole.unknown_fields.values()]
    assert counts == [("colour", 2, "x.jsonl:11"), ("refs", 2, "x.jsonl:11")]


def test_a_moved_hit_names_the_context_by_its_number_in_the_source() -> None:
    assert Hit(0, "too_long", "", details={"id": "a/7"}, number=7).moved(0, 5).details == {"id": "a/12"}
    assert Hit(0, "too_long", "", details={"id": "a/7"}).moved(0, 5).details == {"id": "a/7"}


@pytest.mark.parametrize(("rule", "raises"), [("empty_title", True), ("self_citation", False)])
def test_strict(rule: str, raises: bool) -> None:
    log = ShareLog(strict=True)
    if raises:
        with pytest.raises(StrictHitError, match="why"):
            log.report(rule, "why", AT)
    else:
        log.report(rule, "why", AT)
    assert [hit.rule for hit in log.hits] == [rule]
