"""Whole drafts at a real endpoint: a project, a Word file and a zip, line by line, and nothing of them is kept."""

from __future__ import annotations

import base64
import io
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from docx import Document
from helpers.endpoint import Running, serving

pytestmark = pytest.mark.integration

GAPS = 100
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
    assert holding(folder, SECRET) == []


def holding(folder: Path, words: str) -> list[Path]:
    """The files of a folder that hold some words."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if words.encode() in path.read_bytes()]


def test_each_line_comes_when_it_is_done(running: tuple[Running, Path]) -> None:
    url, folder = running[0].url, running[1]
    sentences = [f"Rare words of the kind {number} are split into subwords [CIT]." for number in range(GAPS)]
    request = {"files": [{"name": "a.md", "text": "\n\n".join(sentences)}], "top_k": 3}
    with httpx.stream("POST", f"{url}/v1/draft", json=request, timeout=300) as answer:
        lines = answer.iter_lines()
        assert json.loads(next(lines))["gaps"] == GAPS
        # Asked when the first line is there, and answered before the last one is.
        between = httpx.post(f"{url}/v1/recommend", json={"context": sentences[0]}, timeout=300)
        assert [json.loads(line)["kind"] for line in lines] == [*["gap"] * GAPS, "end"]
    assert ended(folder, {between.headers["x-request-id"], answer.headers["x-request-id"]}) == [
        between.headers["x-request-id"],
        answer.headers["x-request-id"],
    ]


def ended(folder: Path, ids: set[str]) -> list[str]:
    """Some requests in the order in which they ended, as the endpoint's log has it."""
    deadline, found = time.monotonic() + 120, list[str]()
    while len(found) < len(ids) and time.monotonic() < deadline:
        time.sleep(0.1)
        records = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.open()]
        found = [record["request_id"] for record in records if record.get("request_id") in ids]
    return found


def test_ray_serve_keeps_nothing_of_a_draft(endpoint: Running, endpoint_files: Path) -> None:
    head, gap, end = ask(endpoint.url, {"name": "main.tex", "text": MAIN}, {"name": "refs.bib", "text": REFS})
    assert (head["gaps"], gap["cite"][0], end["answered"]) == (1, "sennrich2016neural", 1)
    with httpx.Client(base_url=endpoint.url, timeout=300) as client:
        wrong = client.post("/v1/draft", json={"files": [{"name": SECRET, "text": MAIN}], "top_k": 0})
        assert wrong.status_code == 422
    deadline = time.monotonic() + 120
    # The logs of Ray Serve, and of Ray around them, tell of the request.
    while not (told := holding(endpoint_files, "/v1/draft")) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert any("serve" in path.parts for path in told)
    assert holding(endpoint_files, SECRET) == []
