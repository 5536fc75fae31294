from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cocite.artifacts import load_array
from cocite.corpus.builder import build
from cocite.corpus.store import BATCH, Corpus
from cocite.corpus.synth import Synthetic
from cocite.corpus.synth_store import build_synthetic
from cocite.errors import InputError

SETTINGS: list[dict[str, Any]] = [
    {"papers": 10},
    {"papers": 50, "seed": 3},
    {"papers": 300, "seed": 4, "one_year": True},
    {"papers": 300, "context_rate": 0.0},
    {"papers": 300, "context_rate": 0.0, "sentences": True},
    {"papers": 700, "context_rate": 2.0, "sentences": True},
    {"papers": 1000, "context_rate": 18.0, "one_year": True, "sentences": True},
]
"""The last has more contexts than a record batch holds, and contexts with numbers of two digits."""


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_store_is_that_of_the_records(settings: dict[str, Any], tmp_path: Path) -> None:
    source = Synthetic(**settings)
    meta = {"format": "synth", "synth": source.settings()}
    by_record = build(source, tmp_path / "records", meta=meta)
    by_column = build_synthetic(source, tmp_path / "columns")
    assert by_column.manifest.meta == by_record.manifest.meta
    assert set(by_column.manifest.files) == set(by_record.manifest.files)
    for name in by_record.manifest.files:
        if name.endswith(".arrow"):
            one, two = (
                pa.ipc.open_file(str(corpus.path / name)).read_all() for corpus in (by_record, by_column)
            )
            assert two.equals(one, check_metadata=True), name
            assert [len(batch) for batch in two.to_batches()] == [len(batch) for batch in one.to_batches()]
            two.validate(full=True)
        else:
            one, two = (load_array(corpus.path / name) for corpus in (by_record, by_column))
            assert one.dtype == two.dtype
            np.testing.assert_array_equal(two, one, err_msg=name)
    assert by_column.find(by_column.ids(np.arange(len(by_column)))).tolist() == list(range(len(by_column)))


def test_the_last_settings_fill_more_than_a_batch(tmp_path: Path) -> None:
    corpus = build_synthetic(Synthetic(**SETTINGS[-1]), tmp_path / "store")
    assert len(corpus.contexts) > BATCH
    assert any(id_.endswith("/10") for id_ in corpus.contexts.take("id", range(len(corpus.contexts))))


def test_progress(tmp_path: Path) -> None:
    blocks: list[int] = []
    steps: list[str] = []
    build_synthetic(Synthetic(100), tmp_path / "store", on_papers=blocks.append, on_step=steps.append)
    assert sum(blocks) == 100
    assert len(blocks) > 1
    assert steps == ["writing citations", "writing co-citations"]


def test_replaces_only_where_it_may(tmp_path: Path) -> None:
    store = tmp_path / "store"
    build_synthetic(Synthetic(20), store)
    with pytest.raises(InputError, match="already exists"):
        build_synthetic(Synthetic(30), store)
    assert len(Corpus.open(store)) == 20
    assert len(build_synthetic(Synthetic(30), store, replace=True)) == 30
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail(papers: int) -> None:
        raise RuntimeError(f"stopped after {papers}")

    with pytest.raises(RuntimeError, match="stopped after 8"):
        build_synthetic(Synthetic(100), tmp_path / "store", on_papers=fail)
    assert not list(tmp_path.iterdir())
