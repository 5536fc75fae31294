"""The files of a draft, in a folder and in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.drafts.limits import MAX_BYTES, Budget
from cocite.drafts.source_files import (
    DraftFiles,
    FolderFiles,
    MemoryFiles,
    OutsideError,
    inner_path,
    read_utf8,
)
from cocite.errors import InputError


@given(st.lists(st.sampled_from(["a", "b.tex", "..", ".", "", "/"]), max_size=6).map("/".join))
def test_no_path_leads_out(name: str) -> None:
    path = inner_path(name)
    inside = Path("/folder", name).resolve().is_relative_to("/folder") if not name.startswith("/") else False
    if path is not None:
        assert inside
        assert not path.startswith("/")
        assert inner_path(path) == path


def test_a_folder_and_memory_find_the_same(tmp_path: Path) -> None:
    (tmp_path / "paper" / "parts").mkdir(parents=True)
    (tmp_path / "secret.tex").write_text("secret")
    (tmp_path / "paper" / "parts" / "a.tex").write_text("We parse.")
    (tmp_path / "paper" / "link.tex").symlink_to(tmp_path / "secret.tex")
    memory = MemoryFiles({"paper/parts/a.tex": b"We parse.", "secret.tex": b"secret"}).within("paper")
    sources: list[DraftFiles] = [FolderFiles(tmp_path / "paper"), memory]
    for files in sources:
        assert files.find("parts/../parts/a.tex") == "parts/a.tex"
        assert (files.size("parts/a.tex"), files.data("parts/a.tex")) == (9, b"We parse.")
        assert files.find("parts/b.tex") is None
        assert files.find("parts") is None
        assert files.find("a" * 2_000) is None
        for name in ("../secret.tex", "/etc/passwd"):
            with pytest.raises(OutsideError, match="outside the draft's folder"):
                files.find(name)
    with pytest.raises(OutsideError, match="outside"):
        sources[0].find("link.tex")


def test_encodings() -> None:
    for data, text in (
        ("né".encode("cp1252"), "né"),
        (b"\x9d\xe9", "\x9dé"),
        (b"\xef\xbb\xbfn", "n"),
        (b"a\r\nb\rc", "a\nb\nc"),
    ):
        assert read_utf8(MemoryFiles({"a.tex": data}), "a.tex", Budget("a.tex")) == text
    with pytest.raises(InputError, match=r"a\.tex: is no text: it holds null bytes"):
        read_utf8(MemoryFiles({"a.tex": b"n\0"}), "a.tex", Budget("a.tex"))


def test_a_file_is_not_read_that_is_too_large() -> None:
    budget = Budget("a.tex")
    with pytest.raises(InputError, match=r"a\.tex: the draft has more than 2 MiB"):
        read_utf8(MemoryFiles({"a.tex": b"a" * (MAX_BYTES + 1)}), "a.tex", budget)
