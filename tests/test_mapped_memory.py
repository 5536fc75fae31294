"""Large mapped files are read a page at a time, small ones as the system likes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite import mapped_memory
from cocite.artifacts import load_array
from cocite.corpus.starter import starter_corpus
from cocite.mapped_memory import read_at_random
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.sharded_index import ShardedIndex

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")


def flags(path: Path) -> list[str]:
    """What the kernel says of the mappings of a file: "rr" is a random read."""
    found, ours = [], False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            ours = line.endswith(str(path.resolve()))
        elif ours and line.startswith("VmFlags:"):
            found += line.split()[1:]
    return found


def test_mapped_files_of_a_folder_are_advised(tmp_path: Path) -> None:
    (tmp_path / "a part").mkdir()
    inside, outside = tmp_path / "a part" / "counts.npy", tmp_path / "other.npy"
    for path in (inside, outside):
        np.save(path, np.arange(100_000))
    arrays = load_array(inside), load_array(outside)
    assert not read_at_random(tmp_path / "a part")
    assert "rr" not in flags(inside)
    assert read_at_random(tmp_path / "a part", share=0)
    assert "rr" in flags(inside)
    assert "rr" not in flags(outside)
    assert [array.sum() for array in arrays] == [4999950000] * 2


def test_an_index_that_is_large_for_the_machine_is_opened_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ShardedIndex.create(starter_corpus(), tmp_path, shards=2).path
    counts = path / "shards" / "0001" / "papers" / "text" / "counts.entries.npy"
    index = open_index(tmp_path)
    assert "rr" not in flags(counts)
    index.close()
    monkeypatch.setattr(mapped_memory, "_memory", lambda: 1000)
    index = open_index(tmp_path)
    assert "rr" in flags(counts)
    assert "rr" in flags(path / "corpus" / "papers.arrow")
    index.close()
