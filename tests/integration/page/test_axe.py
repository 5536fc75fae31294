"""The page before axe-core: nothing to complain of, in both themes and both widths, empty and full."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.page import DRAFT, search, settled

pytestmark = pytest.mark.integration
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")


def complaints(page: Any) -> list[str]:
    """What axe finds by all of its rules, with the element that each is about."""
    found = axe.Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Any, theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    assert complaints(page) == []
    search(page, DRAFT)
    for box in page.locator("#results details").all():
        box.evaluate("box => { box.open = true; }")
    settled(page)
    assert complaints(page) == []
    page.get_by_role("button", name="Show as a table").click()
    assert complaints(page) == []
