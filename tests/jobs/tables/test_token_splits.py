"""The table of token splits: what each row reads, and what is compared with what."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.tiny_bert import tiny_bert
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.evaluation.metrics import Measurement
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.text.pair_tokenizer import PairSettings
from cocite_jobs.tables.token_splits import TRAINED, split_of, table_of_splits


def saved(folder: Path, query: int, candidate: int, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    pairs = PairSettings(layout="global", query_tokens=query, candidate_tokens=candidate)
    trunk = tiny_bert(folder / "bert", ["parsing"])
    CrossEncoder.from_pretrained(trunk, pairs=pairs).save(folder / "cross-encoder")
    return folder


class Recorded:
    """Measures a cross-encoder as the tokens of its query, spread a little over 20 queries."""

    def __init__(self, citing: NDArray[np.int64] | None = None) -> None:
        self.citing = citing
        self.read: list[tuple[int, int, bool, str]] = []

    def __call__(self, model: CrossEncoder, name: str) -> Measurement:
        settings = model.pairs.settings
        self.read.append((settings.query_tokens, settings.candidate_tokens, settings.share, name))
        values = settings.query_tokens / 100 + np.linspace(-0.01, 0.01, 20)
        return Measurement(20, {"F1@20": float(values.mean())}, {"F1@20": values}, self.citing)


def test_the_same_weights_read_seven_splits(tmp_path: Path) -> None:
    measure = Recorded()
    table = table_of_splits(saved(tmp_path, 40, 24), [], measure, "10 candidates of bm25")
    assert table.columns == ["system", "F1@20"]
    assert [row[0] for row in table.rows] == [f"{8 * i} + {64 - 8 * i}" for i in range(1, 8)]
    assert [read[:3] for read in measure.read] == [(8 * i, 64 - 8 * i, False) for i in range(1, 8)]
    assert [row[1].mark for row in table.rows] == ["-", "-", "-", "", "*", "*", "*"], "against the half"
    assert table.note.endswith("The same weights in each row.")


def test_rerankers_that_were_trained_for_a_split_stand_beside(tmp_path: Path) -> None:
    main = saved(tmp_path / "main", 32, 32)
    trained = [saved(tmp_path / "a", 48, 16, seed=1), saved(tmp_path / "b", 20, 44, seed=2)]
    measure = Recorded()
    table = table_of_splits(main, trained, measure, "10 candidates of bm25")
    assert table.columns == ["system", "F1@20", f"F1@20, {TRAINED}"]
    cells = {row[0]: row[1:] for row in table.rows}
    assert list(cells) == [
        "8 + 56",
        "16 + 48",
        "20 + 44",
        "24 + 40",
        "32 + 32",
        "40 + 24",
        "48 + 16",
        "56 + 8",
    ]
    assert cells["48 + 16"] == pytest.approx([0.48, 0.48])
    assert math.isnan(cells["20 + 44"][0])
    assert math.isnan(cells["32 + 32"][1])
    assert cells["20 + 44"][1].mark == "-", "against the first of them, where none was trained for the half"
    assert "in the last columns 48 + 16" in table.note
    assert [read[:2] for read in measure.read[7:]] == [(48, 16), (20, 44)]
    halved = table_of_splits(main, [*trained, main], measure, "")
    cells = {row[0]: row[2] for row in halved.rows}
    assert [cells[name].mark for name in ("20 + 44", "32 + 32", "48 + 16")] == ["-", "", "*"]
    assert "last columns" not in halved.note


def test_the_legend_names_the_test_and_whose_f1_is_marked(tmp_path: Path) -> None:
    main = saved(tmp_path, 32, 32)
    marked = "The mark of an F1 is that of the mean of the queries' own F1."
    for trained in ([], [main]):
        over = table_of_splits(main, trained, Recorded(np.repeat(np.arange(5), 4)), "").note
        alone = table_of_splits(main, trained, Recorded(), "").note
        assert "(paired t-test over citing papers, p < 0.05)" in over
        assert "(paired t-test, p < 0.05)" in alone
        assert (over.count(marked), alone.count(marked)) == (1, 1)


def test_a_split_is_trained_for_once(tmp_path: Path) -> None:
    main = saved(tmp_path, 32, 32)
    with pytest.raises(InputError, match="a second cross-encoder of 32 . 32 tokens"):
        table_of_splits(main, [main, main], Recorded(), "")


def test_eighths_are_of_all_tokens() -> None:
    for total in (64, 80, 112, 128, 512):
        for eighths in range(1, 8):
            query, candidate = split_of(total, eighths)
            assert query + candidate == total
            assert abs(query - eighths * total / 8) <= 0.5
