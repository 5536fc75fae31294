"""A draft read in a process of its own."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.sure_classifier import sure_model

from cocite.drafts import reader_process
from cocite.drafts.reader_process import read_apart, read_job
from cocite.drafts.reading import open_files
from cocite.errors import InputError
from cocite.systems.citing_sentences.quality import Quality

FILES = {
    "main.tex": rb"\documentclass{article}\title{Parsing} We cite \cite{lee} [CIT]. \bibliography{refs,gone}",
    "refs.bib": b"@misc{lee, title = {Trees}, year = 1999, doi = {10.1/a}}\n@misc{kim, title = {Graphs}}",
}


def test_the_draft_is_that_of_this_process() -> None:
    read = read_apart(FILES, bib=b"@misc{lee, title = {Forests}}", seconds=300)
    assert read.draft == replace(open_files(FILES).draft, sources={})
    assert [(paper.id, paper.title, paper.year, paper.doi) for paper in read.entries] == [
        ("lee", "Forests", 0, ""),
        ("kim", "Graphs", 0, ""),
    ]
    assert read.missing == ("gone",)


def test_how_often_suggestions_are_right_comes_back(tmp_path: Path) -> None:
    model, files = (
        sure_model(tmp_path / "model"),
        {"a.txt": b"We split rare words into subword units here.\n"},
    )
    read = read_apart(files, seconds=300, suggest=(model, 3))
    assert (len(read.suggested), read.quality) == (1, Quality(0.47, 0.53))
    assert read_apart(files, seconds=300).quality is None


def test_it_ends_in_time() -> None:
    with pytest.raises(InputError, match=r"takes more than 1e-05 s \(shorten it\)"):
        read_apart(FILES, seconds=0.00001)


def test_what_takes_too_much_memory_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("main.tex", FILES["main.tex"])
        for number in range(3):
            archive.writestr(f"{number}.tex", b" " * (5 << 20))
    with pytest.raises(InputError, match="memory"):
        read_apart({"project.zip": buffer.getvalue()}, seconds=300, memory=4 << 20)


# In a process of its own, in which no other test's thread opens or closes a file meanwhile.
REFUSED_READINGS = """
import os
from cocite.drafts.reader_process import read_apart
from cocite.errors import InputError

def refused(files, seconds):
    try:
        read_apart(files, seconds=seconds)
    except InputError:
        return True

before = sorted(os.listdir("/proc/self/fd"))
assert refused({"a.txt": b""}, 300) and refused({"a.txt": b"We parse."}, 1e-5)
assert sorted(os.listdir("/proc/self/fd")) == before
"""


def test_a_refused_reading_leaves_no_file_open() -> None:
    done = subprocess.run([sys.executable, "-c", REFUSED_READINGS], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_of_the_reading_come_back_whole() -> None:
    job = {"files": {"a.txt": ""}, "main": "", "bib": "", "seconds": 60, "memory": 1 << 30}
    assert read_job(job)["error"] == {
        "message": "the draft has no text",
        "where": "a.txt",
        "hint": "name a file with text",
    }
    with pytest.raises(InputError, match=r"^a\.txt: the draft has no text \(name a file with text\)$"):
        read_apart({"a.txt": b""}, seconds=300)


def test_bibliographies_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_process, "MAX_ENTRIES", 1)
    job = {
        "files": {"a.txt": "V2U="},
        "main": "",
        "seconds": 60,
        "memory": 1 << 30,
        "bib": "QG1pc2N7YSx0aXRsZT17QX19CkBtaXNje2IsdGl0bGU9e0J9fQ==",
    }
    assert read_job(job)["error"]["message"] == "the draft's bibliographies have more than 1 entries"


def test_the_texts_of_the_files_come_back_where_they_are_asked_for() -> None:
    assert read_apart(FILES, seconds=300, sources=True).draft == open_files(FILES).draft
