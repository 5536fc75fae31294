from __future__ import annotations

from cocite.corpus.rules import RULES


def test_every_rule_says_what_is_done() -> None:
    assert {rule.action for rule in RULES.values()} == {"rejected", "repaired", "dropped", "kept"}
