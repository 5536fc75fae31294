from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers.records import (
    WORKS,
    write_lines,
)

from cocite.corpus.builder import build
from cocite.corpus.importers import FORMATS, detect, open_source
from cocite.errors import InputError, NotFoundError


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        open_source(tmp_path / "none")
    with pytest.raises(InputError, match="not recognised: this is a folder without files"):
        open_source(tmp_path)
    path = write_lines(tmp_path / "x.jsonl", [{"foo": 1}])
    with pytest.raises(InputError, match="the format is not recognised: this is "):
        open_source(path)
    with pytest.raises(InputError, match="did you mean 'openalex'"):
        open_source(path, "openalx")
    assert all(maker.format == name for name, maker in FORMATS.items())  # type: ignore[attr-defined]


LINES = [{"id": f"p{i}", "title": f"T {i}", "citations": [f"p{i - 1}"] if i else []} for i in range(300)]


def test_a_format_that_the_records_do_not_have_is_refused(tmp_path: Path) -> None:
    native = write_lines(tmp_path / "x.jsonl", LINES)
    for name in ("openalex", "s2", "citeomatic"):
        with pytest.raises(
            InputError, match=rf"the records are those of jsonl, not of {name} \(--format jsonl\)"
        ):
            open_source(native, name)
    with pytest.raises(InputError, match="no paper can be kept"):
        build(open_source(native, "bibtex"), tmp_path / "store")
    with pytest.raises(InputError, match=r"holds no papers\.parquet"):
        open_source(native, "parquet")


def test_files_of_several_formats_are_refused_and_unread_ones_counted(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_lines(folder / "a.jsonl", LINES)
    shutil.copy(WORKS, folder / "works.jsonl")
    with pytest.raises(InputError, match=r"several formats: a\.jsonl \(jsonl\), works\.jsonl \(openalex\)"):
        detect(folder)
    (folder / "works.jsonl").rename(folder / "works.txt")
    (folder / "README.md").write_text("about")
    corpus = build(open_source(folder), tmp_path / "store")
    assert corpus.counts["rules"]["unread_file"] == 1
    assert corpus.manifest.meta["samples"]["unread_file"][0]["file"] == "works.txt"


def test_pdfs_are_read_where_a_folder_holds_no_records(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"no PDF")
    (tmp_path / "notes.txt").write_text("about")
    assert detect(tmp_path) == "pdf"
    for name, text, format in (
        ("a.xml", "<TEI/>", "grobid"),
        ("a.csv", "id,title\n", "csv"),
        ("a.jsonl", '{"id": "a", "title": "A"}', "jsonl"),
    ):
        (tmp_path / name).write_text(text)
        assert detect(tmp_path) == format
