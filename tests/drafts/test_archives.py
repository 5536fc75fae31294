"""Projects in a .zip."""

from __future__ import annotations

import io
import stat
import struct
import tracemalloc
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.drafts import archives
from cocite.drafts.archives import unpacked, with_parts
from cocite.drafts.reading import open_files
from cocite.errors import InputError


def packed(files: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


MAIN = b"\\documentclass{article}\\begin{document}We parse [CIT].\\end{document}"


def test_a_project() -> None:
    nested = packed({"main.tex": MAIN})
    data = packed(
        {
            "paper/main.tex": MAIN,
            "paper/refs.bib": "@misc{a, title = {Trees}}",
            "paper/figure.png": b"\x89PNG",
            "paper/other.zip": nested,
            "__MACOSX/paper/._main.tex": b"\0\5",
            "paper/._main.tex": b"\0\5",
            "/etc/absolute.tex": MAIN,
            "../outside.tex": MAIN,
            "paper/../../also.tex": MAIN,
            "C:\\windows.tex": MAIN,
            "folder.tex/": "",
        }
    )
    assert list(unpacked(data, "p.zip")) == ["paper/main.tex", "paper/refs.bib"]
    assert len(open_files({"p.zip": data}).draft.gaps) == 1


def test_links_are_left_out() -> None:
    link = zipfile.ZipInfo("link.tex")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("main.tex", MAIN)
    assert list(unpacked(buffer.getvalue(), "p.zip")) == ["main.tex"]


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    data = packed({f"{i}.tex": b" " * (4 << 20) for i in range(5)})
    assert len(data) < 100_000
    tracemalloc.start()
    with pytest.raises(InputError, match=r"p\.zip: unpacks to more than 16 MiB of text"):
        unpacked(data, "p.zip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 << 20


def test_a_bomb_that_understates_its_size_is_cut() -> None:
    data = bytearray(packed({"main.tex": b" " * (4 << 20)}))
    at = data.rfind(b"PK\x01\x02") + 24  # the uncompressed size in the central directory
    data[at : at + 4] = struct.pack("<I", 10)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"p\.zip: holds a damaged file, 'main\.tex'"):
        unpacked(bytes(data), "p.zip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 << 20


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(packed({"main.tex": MAIN}))
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match=r"p\.zip: is encrypted"):
        unpacked(bytes(data), "p.zip")
    with pytest.raises(InputError, match="packed in an unusual way"):
        unpacked(packed({"main.tex": MAIN}, zipfile.ZIP_LZMA), "p.zip")
    broken = bytearray(packed({"main.tex": b"word " * 100}, zipfile.ZIP_STORED))
    broken[60] ^= 1
    with pytest.raises(InputError, match="holds a damaged file, 'main.tex'"):
        unpacked(bytes(broken), "p.zip")
    with pytest.raises(InputError, match="holds 2,001 files, more than 2,000"):
        unpacked(packed(dict.fromkeys(map(str, range(2_001)), "")), "p.zip")
    monkeypatch.setattr(archives, "MAX_ARCHIVE_BYTES", 10)
    with pytest.raises(InputError, match=r"p\.zip: has more than"):
        unpacked(b"x" * 11, "p.zip")


@given(st.integers(0, 400), st.integers(0, 255), st.integers(0, 400))
def test_a_damaged_archive_is_read_or_refused(at: int, byte: int, length: int) -> None:
    data = bytearray(packed({"main.tex": MAIN, "refs.bib": b"@misc{a, title = {Trees}}"}))
    data[at % len(data)] = byte
    try:
        found = unpacked(bytes(data[: len(data) - length % 50]), "p.zip")
    except InputError as error:
        assert str(error).startswith("p.zip: ")  # noqa: PT017
    else:
        assert sum(map(len, found.values())) < 1_000


def test_parts_are_replaced_where_they_stand() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr(zipfile.ZipInfo("[Content_Types].xml", (2001, 2, 3, 4, 5, 6)), "types")
        target.writestr("word/document.xml", "earlier")
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("word/document.xml", "old")
        target.writestr("word/media/a.png", bytes(1_000), zipfile.ZIP_DEFLATED)
    data = with_parts(buffer.getvalue(), "a.docx", {"word/document.xml": b"new"})
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        assert [(one.filename, made.read(one)) for one in made.infolist()] == [
            ("[Content_Types].xml", b"types"),
            ("word/document.xml", b"new"),
            ("word/media/a.png", bytes(1_000)),
        ]
        assert made.infolist()[0].date_time == (2001, 2, 3, 4, 5, 6)
        assert made.infolist()[2].compress_type == zipfile.ZIP_DEFLATED
    with pytest.raises(InputError, match=r"a\.docx: lacks its part 'word/gone\.xml'"):
        with_parts(data, "a.docx", {"word/gone.xml": b""})
