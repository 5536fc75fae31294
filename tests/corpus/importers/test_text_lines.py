from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.importers import text_lines as module
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.text_lines import in_utf8, text_lines
from cocite.errors import InputError


def lines(path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)
    with InputFile(path) as stream:
        return list(text_lines(stream))


def test_lines_are_decoded_and_a_byte_order_mark_left_out(tmp_path: Path) -> None:
    found = lines(tmp_path / "x", "\ufeffZoë\r\n\ufeffb".encode())
    assert found == ["Zoë\r\n", "\ufeffb"]
    assert in_utf8(found[0]) == ("Zoë\r\n", None)


def test_other_bytes_are_windows_1252_and_reported(tmp_path: Path) -> None:
    [line] = lines(tmp_path / "x", "Zoë – “A”".encode("cp1252"))
    text, hit = in_utf8(line)
    assert text == "Zoë – “A”"
    assert hit is not None
    assert hit.rule == "not_utf8"


def test_a_line_without_end_is_refused_before_it_is_all_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 1 << 10)
    assert lines(tmp_path / "x", b"a" * 1023 + b"\n" + b"b" * 1023) == ["a" * 1023 + "\n", "b" * 1023]
    with pytest.raises(InputError, match=r"x:2: the line has more than"):
        lines(tmp_path / "x", b"a\n" + b"b" * 1024 + b"\n")
