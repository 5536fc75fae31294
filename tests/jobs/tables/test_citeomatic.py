"""Citeomatic's tables with models trained for seconds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.small_citeomatic import train_small_citeomatic
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import history_before
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.evaluation.metrics import means
from cocite.pipeline.components import load_nnrank
from cocite.progress_bars import no_bars
from cocite.retrieval.index.index import Index
from cocite.systems.citeomatic.nnselect.encoder import load_encoder
from cocite.systems.meta_paths.l2_lr import L2LrRanker, L2LrSettings, fit_l2_lr
from cocite.training.periods import Periods, PeriodSettings
from cocite_jobs.tables.citeomatic import citeomatic_tables
from cocite_jobs.tables.citeomatic_variants import ENCODERS, WITHOUT, CiteomaticVariants

TRAINED_K = 7
"""Neighbours in the recipe of the model's NNRank, which the tables take."""


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=2, split=(2, 1))


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_small_citeomatic(
        corpus, tmp_path_factory.mktemp("m") / "model", f"candidates.neighbours={TRAINED_K}"
    )


def test_the_tables_train_what_is_missing_and_only_once(corpus: Corpus, model: Path) -> None:
    report = citeomatic_tables(corpus, model, sample=40)
    second, third, fourth = report.tables
    assert [row[0] for row in second.rows] == [
        "BM25",
        "L2-LR",
        "ClusCite",
        "NNSelect",
        "+ NNRank",
        "+ metadata",
    ]
    assert [row[0] for row in third.rows] == ["full model", *(row for row, _ in WITHOUT.values())]
    full = third.rows[0]
    assert full[1] == second.rows[4][1]
    for row in third.rows[1:]:
        assert row[2] == pytest.approx(full[1] - row[1])
        assert row[4] == pytest.approx(full[3] - row[3])
    assert [row[0] for row in fourth.rows] == [1, 5, 10, 50]
    assert fourth.columns[1:3] == ["R@20", "P@20"]
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


@pytest.mark.parametrize("reranked", [False, True])
def test_table_4_is_that_of_the_nnselect_step_and_of_nnrank_beside_it(
    corpus: Corpus, model: Path, reranked: bool
) -> None:
    [table] = citeomatic_tables(corpus, model, only=["4"], sample=40).tables
    encoder = load_encoder(model / "nnselect")
    index = Index.build(corpus, history_before(corpus, "test"), encoders=[encoder])
    nnrank = load_nnrank(model, index, always=True) if reranked else None
    task = tasks.global_(corpus, "test", sample=40, seed=0)
    for row in table.rows:
        rank = CiteomaticRanker(index, encoder, nnrank, neighbours=row[0]).rank
        values = means(experiment.run(task, rank, k=100).hits, ("R@20", "P@20"))
        found = row[4:6] if reranked else row[1:3]
        assert found == pytest.approx([values["R@20"], values["P@20"]])


def test_table_10_and_the_figures_are_of_the_systems_of_table_2(corpus: Corpus, model: Path) -> None:
    report = citeomatic_tables(corpus, model, only=["2", "10", "figure3", "figure4"], sample=40)
    second, tenth, venues, ranks = report.tables
    assert [row[0] for row in tenth.rows] == [row[0] for row in second.rows]
    assert [row[4:] for row in tenth.rows] == [row[1:] for row in second.rows], "F1@20 and MRR"
    # Figure 3 is what a venue's own queries have, without metadata and with it.
    assert venues.columns == ["venue", "papers", "queries", "F1@20, NNRank", "F1@20, NNRank + metadata"]
    task = tasks.global_(corpus, "test", sample=40, seed=0)
    of_query = [query.venue for query in task.queries]
    # The ten venues of most papers of the corpus, as in the paper, and not those of most queries.
    of_paper = Counter(corpus.papers.take("venue", np.arange(len(corpus))))
    largest = sorted((-count, venue) for venue, count in of_paper.items() if venue)[:10]
    expected_rows = [[venue, -count, of_query.count(venue)] for count, venue in largest if venue in of_query]
    assert [row[:3] for row in venues.rows] == expected_rows
    first = np.array([venue == venues.rows[0][0] for venue in of_query])
    for column, folder in ((3, model), (4, model / "ablations/metadata")):
        encoder = load_encoder(folder / "nnselect")
        index = Index.build(corpus, history_before(corpus, "test"), encoders=[encoder])
        nnrank = load_nnrank(folder, index, always=True)
        rank = CiteomaticRanker(index, encoder, nnrank, neighbours=TRAINED_K).rank
        result = experiment.run(task, rank, k=100)
        expected = means(result.hits.queries(first), ("F1@20",))["F1@20"]
        assert venues.rows[0][column] == pytest.approx(expected)
    assert ranks.columns == [
        "predictions",
        *(f"{kind} rank, NNRank{more}" for more in ("", " + metadata") for kind in ("mean", "max")),
    ]
    assert [row[0] for row in ranks.rows] == [1, 5, 10, 20, 50, 100]
    np.testing.assert_allclose(
        [row[3] for row in ranks.rows], result.self_citation.mean_rank[[0, 4, 9, 19, 49, 99]]
    )


def test_l2_lr_is_fitted_to_the_training_period_by_the_seed_of_the_model(corpus: Corpus, model: Path) -> None:
    [table] = citeomatic_tables(corpus, model, only=["2"], sample=40, seed=3).tables
    training = Periods.of(corpus, PeriodSettings()).history
    fitted = fit_l2_lr(training, L2LrSettings(), CiteomaticVariants(corpus, model, no_bars).seed)
    index = Index.build(corpus, history_before(corpus, "test"))
    result = experiment.run(
        tasks.global_(corpus, "test", sample=40, seed=3), L2LrRanker(index, fitted).search, k=100
    )
    assert table.rows[1] == ["L2-LR", *means(result.hits, ("F1@20", "MRR")).values()]
    assert table.rows[1][2] > 0
    assert table.rows[2][0] == "ClusCite"
    assert table.rows[2][2] > 0


def test_the_encoders_of_section_5_are_trained_and_measured_in_both_stages(
    corpus: Corpus, model: Path
) -> None:
    [table] = citeomatic_tables(corpus, model, only=["encoders"], sample=40).tables
    task = tasks.global_(corpus, "test", sample=40, seed=0)
    for row, name in zip(table.rows, ("", *ENCODERS), strict=True):
        folder = model / "ablations" / name if name else model
        encoder = load_encoder(folder / "nnselect")
        assert encoder.model.encoder_kind == (ENCODERS[name][1] if name else "bag")
        index = Index.build(corpus, history_before(corpus, "test"), encoders=[encoder])
        for reranked, found in ((False, row[1:3]), (True, row[4:])):
            nnrank = load_nnrank(folder, index, always=True) if reranked else None
            rank = CiteomaticRanker(index, encoder, nnrank, neighbours=TRAINED_K).rank
            values = means(experiment.run(task, rank, k=100).hits, ("F1@20", "MRR"))
            assert found == pytest.approx(list(values.values()))


def _settings(folder: Path) -> Any:
    return json.loads((folder / "nnrank/config.json").read_text())["model"]


def test_a_table_or_a_part_that_is_not_there_is_named(corpus: Corpus, tmp_path: Path, model: Path) -> None:
    with pytest.raises(InputError, match="no table '5'"):
        citeomatic_tables(corpus, model, only=["5"])
    (tmp_path / "half/nnselect").mkdir(parents=True)
    with pytest.raises(InputError, match="lacks nnrank"):
        citeomatic_tables(corpus, tmp_path / "half")
