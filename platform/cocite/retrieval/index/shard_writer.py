"""Writing the shards of an index version in one process: the parts of their build, one after the other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from cocite.part_files import LocalFiles
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.shard_build import assemble, build_stages, describe_shards
from cocite.retrieval.index.sharded_plan import ShardedPlan

PARTS = ".parts"
"""The folder of a version in the making that holds the parts."""


def write_shards(plan: ShardedPlan, version: Path, *, advance: Advance = ignore_progress) -> dict[str, Any]:
    """Write all shards, the words, the tables of names and the known contexts into a version's folder.

    Args:
        plan: of the index.
        version: the folder.
        advance: receives the number of texts and vectors made since its last call.

    Returns:
        What the version's manifest says of the shards.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> plan = ShardedPlan.of(starter_corpus(), shards=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [shard["papers"] for shard in write_shards(plan, Path(folder))["shards"]]
        [211, 212]
    """
    inputs = plan.inputs(LocalFiles(version / PARTS), advance)
    made: list[Any] = []
    for stage in build_stages(inputs):
        made = [part.make() for part in stage.parts]
        for name in stage.spent:
            inputs.files.remove(name)
    assemble(inputs, version)
    shutil.rmtree(version / PARTS)
    return describe_shards(made)
