"""In which order the test files run, and which worker process runs them: the slowest first, none alone at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SLOWEST: tuple[str, ...] = (
    "integration/test_cluster_kills.py",
    "integration/test_cluster.py",
    "jobs/training/test_on_ray.py",
    "integration/test_jobs.py",
    "tuning/run/test_on_ray.py",
    "integration/test_serve_registry.py",
    "integration/test_demo.py",
    "integration/test_engine_processes.py",
    "integration/endpoint",
    "integration/page",
    "integration",
    "jobs/retrieval/test_ray_shards.py",
    "jobs/steps/indexing/test_build_index.py",
    "jobs/steps/embedding/test_embed.py",
    "jobs/steps/importing/test_import_corpus.py",
    "cli/test_interrupted.py",
    "test_gpu_benchmarks.py",
    "tuning/run/test_champion.py",
    "tuning/run/test_phases.py",
    "jobs/training/test_engine_session.py",
    "cli/wrong_inputs/test_wrong_inputs.py",
)
"""Files and folders of ``tests/`` that take longest, slowest first; the many quick ones fill the gaps after them."""


TOGETHER = ("tests/integration/endpoint/", "tests/integration/page/")
"""Folders whose files one process runs, for they share what takes long to start."""


def slowest_first(items: Iterable[pytest.Item], tests: Path) -> list[pytest.Item]:
    """The items of the slowest files, then the others in their order.

    Args:
        items: what was collected.
        tests: the folder ``tests/``.
    """
    rank = {str(tests / name): place for place, name in enumerate(SLOWEST)}

    def place(item: pytest.Item) -> int:
        return min(rank.get(str(path), len(rank)) for path in (item.path, item.path.parent))

    return sorted(items, key=place)


class FilesInOrder(LoadFileScheduling):
    """Gives each worker process whole files, in the order of the items: xdist would begin with those of most tests."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        """What one process runs: a file, or a folder of :data:`TOGETHER`."""
        return next(
            (folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid)
        )
