"""Whether an endpoint that asks for keys answers as its description says, whatever key is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from helpers.documented import DRAFTS, WITHOUT_DRAFTS, require_documented_answers
from helpers.endpoint import Running, serving
from helpers.served_texts import texts_folders

from benchmarks.serve_cases import EXPECTED, KEYS, key_headers

pytestmark = pytest.mark.integration
OTHERS = [*(kind for kind in KEYS if kind != "admin"), "wrong", "none"]
"""What is sent beside an admin's key."""
Served = tuple[Running, dict[str, str | None]]
"""An endpoint, and the header of each kind of key."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("keys")
    headers = key_headers(folder / "keys")
    options = ("--on", "process", "--keys", str(folder / "keys"))
    with serving(*texts_folders(folder), folder / "log.txt", *options) as running:
        yield running, headers


@pytest.mark.parametrize(
    ("kind", "which"),
    [
        ("admin", ()),
        *((kind, WITHOUT_DRAFTS) for kind in OTHERS),
        *(pytest.param(kind, DRAFTS, marks=pytest.mark.thorough) for kind in OTHERS),
    ],
)
def test_every_answer_is_one_that_is_documented(
    kind: str, which: tuple[str, ...], served: Served, tmp_path: Path
) -> None:
    running, headers = served
    header = headers[kind]
    options = ("--phases", "examples,fuzzing", "--max-examples", "3", *which)
    require_documented_answers(running.url, tmp_path, *options, *(("--header", header) if header else ()))
    name, _, value = (header or "Accept: */*").partition(": ")
    path = "/v1/keys" if kind == "reader" else "/v1/version"
    answer = httpx.get(f"{running.url}{path}", headers={name: value}, timeout=60)
    # A rate is back after a second.
    assert str(answer.status_code) in (EXPECTED.get(kind, "200"), "200" if kind == "of a low rate" else "")
