from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.records import (
    records_of,
    version,
    write_lines,
)

from cocite.corpus.builder import build
from cocite.corpus.importers import files, open_source
from cocite.errors import InputError


def test_a_compressed_file_cut_short_is_refused(tmp_path: Path) -> None:
    lines = b"".join(
        b'{"id": "%d", "title": "%s"}\n' % (i, os.urandom(20).hex().encode()) for i in range(500)
    )
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(lines)[:-2000])
    with pytest.raises(InputError, match=r"x\.jsonl\.gz: the gzip file is damaged or cut short"):
        records_of(tmp_path / "x.jsonl.gz")


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    "bz2": bz2.compress,
}


LINES = [{"id": f"p{i}", "title": f"T {i}", "citations": [f"p{i - 1}"] if i else []} for i in range(300)]


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_source_is_the_same_source(tmp_path: Path, suffix: str) -> None:
    plain = write_lines(tmp_path / "x.jsonl", LINES)
    packed = tmp_path / f"x.jsonl.{suffix}"
    # Two streams one after the other, as parts that were joined.
    data = plain.read_bytes()
    packed.write_bytes(PACKERS[suffix](data[:5000]) + PACKERS[suffix](data[5000:]))
    source = open_source(packed)
    assert len(list(source)) == len(LINES)
    assert source.done == source.total == packed.stat().st_size
    assert source.position.line == len(LINES)
    assert version(packed, tmp_path / "packed") == version(plain, tmp_path / "plain")
    (tmp_path / "in").mkdir()
    packed.rename(tmp_path / "in" / packed.name)
    assert version(tmp_path / "in", tmp_path / "folder") == version(plain, tmp_path / "plain")


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("format", ["jsonl", "bibtex", None])
def test_a_damaged_file_is_refused_whole(tmp_path: Path, suffix: str, format: str | None) -> None:
    name = "x.bib" if format == "bibtex" else "x.jsonl"
    text = "".join(f"@misc{{k{i}, title = {{T {i * i}}}}}\n" for i in range(300))
    lines = "".join(json.dumps({"id": str(i), "title": f"T {i * i}"}) + "\n" for i in range(300))
    whole = PACKERS[suffix]((text if format == "bibtex" else lines).encode())
    path = tmp_path / f"{name}.{suffix}"
    for broken in (whole[: len(whole) // 2], whole[:6] + b"\0not a stream" * 9):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"file is damaged or cut short"):
            build(open_source(path, format), tmp_path / "store", rejects=tmp_path / "rejects.jsonl")
        assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_that_unpacks_to_absurdly_much_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 1 << 20)
    path = tmp_path / f"x.jsonl.{suffix}"
    path.write_bytes(PACKERS[suffix](b'{"id": "a", "title": "A"}\n' + b" " * (16 << 20)))
    with pytest.raises(InputError, match="unpacks to more than 250 times its size"):
        build(open_source(path), tmp_path / "store")
    assert not (tmp_path / "store").exists()
