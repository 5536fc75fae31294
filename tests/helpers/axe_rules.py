"""What axe-core finds on a page by all of its rules, and which of them are left out or left open, and why."""

from __future__ import annotations

from typing import Any

import pytest

LEFT_OUT = {
    "color-contrast-enhanced": "7:1, of WCAG's level AAA: the page has the 4.5:1 of AA",
    "hidden-content": "says of all that is hidden that it was not looked at: the test shows one after the other",
}
"""Rules of axe that are not asked, and why; all others are, those too that axe leaves off by default."""
ELSEWHERE = "the contrast test of test_access.py measures it, which looks at colours alone"
OPEN = {
    ("color-contrast", "bgOverlap"): f"the text field or a circle is behind it: {ELSEWHERE}",
    ("color-contrast", "elmPartiallyObscured"): f"a bar or the dialog lies over it: {ELSEWHERE}",
    ("color-contrast", "elmPartiallyObscuring"): f"it is scrolled within the dialog: {ELSEWHERE}",
    ("color-contrast", "imgNode"): f"it stands in the picture of links: {ELSEWHERE}",
    ("color-contrast", "shortTextContent"): f"it has one letter or digit: {ELSEWHERE}",
    ("color-contrast", "nonBmp"): f"it has a sign alone, as the arrow of a key: {ELSEWHERE}",
    ("label-content-name-mismatch", None): "a sign alone is seen, as ?, and its name has words",
}
"""What axe cannot decide on the page, by rule and by what it says of the element, and why it is right there."""


def complaints(page: Any) -> list[str]:
    """What axe finds or cannot decide by its rules, with the element that each is about."""
    page.evaluate("Promise.all(document.getAnimations().map((animation) => animation.finished))")
    tool = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    page.evaluate(tool.axe_script)
    rules = page.evaluate("axe.getRules().map((rule) => rule.ruleId)")
    assert {*LEFT_OUT, "target-size"} <= {*rules}
    enabled = {rule: {"enabled": rule not in LEFT_OUT} for rule in rules}
    found = tool.run(page, options={"resultTypes": ["violations", "incomplete"], "rules": enabled}).response
    return [
        f"{rule['id']}{' undecided' if kind == 'incomplete' else ''}: {node['html'][:120]}"
        for kind in ("violations", "incomplete")
        for rule in found[kind]
        for node in rule["nodes"]
        if kind == "violations" or (rule["id"], _undecided(node)) not in OPEN
    ]


def _undecided(node: dict[str, Any]) -> str | None:
    """What kept axe from deciding, as it names it."""
    data = [check["data"] for check in [*node["any"], *node["all"], *node["none"]]]
    return next((one["messageKey"] for one in data if isinstance(one, dict) and "messageKey" in one), None)
