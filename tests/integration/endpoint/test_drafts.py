"""Whole drafts at a real endpoint without Ray: a project, a Word file and a zip."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from docx import Document
from helpers.endpoint import Running, serving

pytestmark = pytest.mark.integration

SECRET = "subword units of a secret kind"
MAIN = rf"""\documentclass{{article}}
\begin{{document}}
Self-attention replaced recurrence \cite{{vaswani}}.
Rare words are split into {SECRET} \cite{{?}}.
\bibliography{{refs}}
\end{{document}}
"""
REFS = "@misc{vaswani, title={Attention Is All You Need}, year=2017}\n"


@pytest.fixture(scope="module")
def running(starter_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    folder = tmp_path_factory.mktemp("drafts")
    options = ("--on", "process", "--set", f"logs.folder={folder}", "--set", "limits.draft_s=200")
    slow = ("--set", "request_timeout_s=300")
    with serving(None, starter_index, folder / "log.txt", *options, *slow) as running:
        yield running, folder


def ask(url: str, *files: dict[str, str]) -> list[Any]:
    answer = httpx.post(f"{url}/v1/draft", json={"files": files, "top_k": 3}, timeout=300)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_project_a_word_file_and_a_zip(running: tuple[Running, Path]) -> None:
    url, folder = running[0].url, running[1]
    project = ask(url, {"name": "main.tex", "text": MAIN}, {"name": "refs.bib", "text": REFS})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("main.tex", MAIN)
        archive.writestr("refs.bib", REFS)
    packed = ask(url, {"name": "project.zip", "base64": base64.b64encode(buffer.getvalue()).decode()})
    for head, gap, end in (project, packed):
        assert [(one["key"], one["id"]) for one in head["cited"]] == [("vaswani", "vaswani2017attention")]
        assert (gap["file"], gap["line"], gap["cite"][0]) == ("main.tex", 4, "sennrich2016neural")
        assert (end["answered"], len(end["usually_cited_together"])) == (1, 5)
    assert project[1]["answer"]["papers"] == packed[1]["answer"]["papers"]
    document = Document()
    document.add_paragraph(f"Rare words are split into {SECRET} [CIT].")
    buffer = io.BytesIO()
    document.save(buffer)
    head, gap, _ = ask(url, {"name": "a.docx", "base64": base64.b64encode(buffer.getvalue()).decode()})
    assert (head["form"], gap["cite"][0]) == ("docx", "sennrich2016neural")
    kept = [
        path for path in folder.rglob("*") if path.is_file() and SECRET in path.read_text(errors="replace")
    ]
    assert kept == []
