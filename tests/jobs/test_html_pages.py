from __future__ import annotations

from pathlib import Path

import pytest

from cocite_jobs.html_pages import render_page


def test_figures_are_put_in_as_they_are_and_the_rest_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "a_package_of_this_test"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "page.html").write_text("<p>{{ name }}</p>{{ figures.one }}")
    monkeypatch.syspath_prepend(str(tmp_path))
    page = render_page(package.name, {"one": "<svg></svg>"}, name="a < b")
    assert page == "<p>a &lt; b</p><svg></svg>"
