"""Candidates of queries in memory: found by the miner, and written as an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cocite.artifacts import publish
from cocite.pipeline.candidate_mining import Miner, MiningPlan
from cocite.retrieval.index.search_index import SearchIndex
from cocite.training.candidates import KIND, CandidateSet, CandidateSettings, create
from cocite.training.periods import Periods


def mine(settings: CandidateSettings, periods: Periods, index: SearchIndex) -> dict[str, CandidateSet]:
    """The candidates of all queries."""
    plan = MiningPlan.of(settings, periods)
    miner = Miner.over(index, plan)
    rows = {name: np.array(part.rows) for name, part in plan.parts.items()}
    for block in plan.blocks:
        rows[block.part][block.queries] = miner.find(block)
    return {name: replace(part, rows=rows[name]) for name, part in plan.parts.items()}


def save(folder: Path, parts: Mapping[str, CandidateSet], meta: dict[str, Any]) -> None:
    """Write candidates as an artifact."""
    described = {"task": parts["train"].task, "queries": {n: len(p) for n, p in parts.items()}, **meta}
    with publish(folder, kind=KIND, meta=described, replace=folder.exists()) as temporary:
        for name, file in create(temporary, parts).items():
            file[:] = parts[name].rows
            file.flush()
