"""Citeomatic's tables with models trained for seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.small_citeomatic import train_small_citeomatic
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite_jobs.tables.citeomatic import citeomatic_tables
from cocite_jobs.tables.citeomatic_variants import WITHOUT


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=2, split=(2, 1))


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_small_citeomatic(corpus, tmp_path_factory.mktemp("m") / "model")


def test_the_tables_train_what_is_missing_and_only_once(corpus: Corpus, model: Path) -> None:
    report = citeomatic_tables(corpus, model, sample=40)
    second, third, fourth = report.tables
    assert [row[0] for row in second.rows] == ["BM25", "NNSelect", "+ NNRank", "+ metadata"]
    assert [row[0] for row in third.rows] == ["full model", *(row for row, _ in WITHOUT.values())]
    full = third.rows[0]
    assert full[1] == second.rows[2][1]
    for row in third.rows[1:]:
        assert row[2] == pytest.approx(full[1] - row[1])
        assert row[4] == pytest.approx(full[3] - row[3])
    assert [row[0] for row in fourth.rows] == [1, 5, 10, 50]
    variants = sorted((model / "ablations").iterdir())
    assert [path.name for path in variants] == ["metadata", *sorted(WITHOUT)]
    features = {path.name: _settings(path) for path in variants}
    assert not features["without-intersection"]["intersection"]
    assert not features["without-numerical"]["nnselect"]
    assert features["metadata"]["authors"]
    before = {path: path.stat().st_mtime_ns for path in model.rglob("manifest.json")}
    again = citeomatic_tables(corpus, model, only=["2", "3"], sample=40)
    assert [table.rows for table in again.tables] == [second.rows, third.rows]
    assert before == {path: path.stat().st_mtime_ns for path in model.rglob("manifest.json")}


def _settings(folder: Path) -> Any:
    return json.loads((folder / "nnrank/config.json").read_text())["model"]


def test_a_table_or_a_part_that_is_not_there_is_named(corpus: Corpus, tmp_path: Path, model: Path) -> None:
    with pytest.raises(InputError, match="no table '5'"):
        citeomatic_tables(corpus, model, only=["5"])
    (tmp_path / "half/nnselect").mkdir(parents=True)
    with pytest.raises(InputError, match="lacks nnrank"):
        citeomatic_tables(corpus, tmp_path / "half")
