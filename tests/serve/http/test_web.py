from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.api_backend import InProcess, client

from cocite_serve.http.web import PAGE, SWAGGER


def test_the_headers_let_the_browser_load_nothing_from_elsewhere(backend: InProcess) -> None:
    page = client(backend).get("/")
    assert page.status_code == 200
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert "'unsafe-inline'" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    names = [path.name for path in PAGE.iterdir() if path.name != "index.html"]
    assert {"app.js", "gaps.js", "style.css", "icon.svg"} <= set(names)
    for name in names:
        assert client(backend).get(f"/static/{name}").status_code == 200


def test_only_the_documentation_may_run_its_inline_script(backend: InProcess) -> None:
    docs = client(backend).get("/docs")
    assert docs.status_code == 200
    assert "'unsafe-inline'" in docs.headers["content-security-policy"]
    assert "'unsafe-inline'" not in client(backend).get("/v1/docs/x").headers["content-security-policy"]


def test_a_refusal_is_never_cached_and_a_page_is_asked_for_again(backend: InProcess) -> None:
    assert client(backend).get("/v1/nothing").headers["cache-control"] == "no-store"
    assert client(backend).get("/v1/version").headers["cache-control"] == "no-cache"


def test_the_files_of_the_pages_are_in_the_packages() -> None:
    assert (Path(PAGE) / "index.html").is_file()
    assert (SWAGGER / "swagger-ui-bundle.js").is_file()


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1, 2])  # light, dark by the system's setting, dark by choice
@pytest.mark.parametrize("ground", ["paper", "card", "tint"])
@pytest.mark.parametrize("text", ["ink", "soft", "faint", "accent", "danger"])
def test_text_of_every_theme_has_the_contrast_that_wcag_asks_for(text: str, ground: str, theme: int) -> None:
    style = (PAGE / "style.css").read_text()
    first, second = (re.findall(rf"--{name}: (#\w{{6}})", style)[theme] for name in (text, ground))
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5
