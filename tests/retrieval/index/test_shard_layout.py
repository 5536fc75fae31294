"""Names in the folder of a version."""

from __future__ import annotations

from pathlib import Path

from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_files import load_group
from cocite.retrieval.index.shard_layout import save_words, shard_folder, shard_name


def test_the_folders_of_shards_and_words(tmp_path: Path) -> None:
    assert shard_folder(tmp_path, 12) == tmp_path / shard_name(12) == tmp_path / "shards" / "0012"
    index = Bm25Index.build(["chart parsing"])
    save_words(tmp_path, {"contexts": {"contexts": index}})
    found = load_group(tmp_path / "words" / "contexts", ("contexts",))["contexts"]
    assert found.vocabulary == index.vocabulary
    assert not list(tmp_path.rglob("lists.*"))
