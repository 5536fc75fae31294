"""Where the shards and the words of all of them lie in the folder of an index version."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_files import save_group
from cocite.retrieval.index.documents import INSIDE

SHARD_KIND = "index-shard"
"""The kind of a shard's folder in its manifest."""
SHARDS, WORDS = "shards", "words"
"""The folders of a version that hold the shards, and the vocabularies with the statistics of all of them."""
PAPERS, CONTEXTS = "papers", "contexts"


def shard_name(number: int) -> str:
    """The folder of one shard, in that of a version.

    Example:
        >>> shard_name(7)
        'shards/0007'
    """
    return f"{SHARDS}/{number:04d}"


def shard_folder(version: Path, number: int) -> Path:
    """The folder of one shard of a version."""
    return version / shard_name(number)


def save_words(version: Path, words: Mapping[str, Mapping[str, Bm25Index]]) -> None:
    """Write the vocabularies of papers and contexts, and the statistics of their fields.

    Args:
        version: its folder.
        words: by group, the fields as indexes of no document.
    """
    for group, fields in words.items():
        save_group(fields, version / WORDS / group, inside=INSIDE, without_lists=fields)
