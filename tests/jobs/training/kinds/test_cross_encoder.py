"""From a corpus to a reranker by the command line alone: pretraining, candidates, training, scoring."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.protocols import Ranking
from cocite.systems.cross_encoder.reranker import load_cross_encoder
from cocite.training import candidates

MASKED = ["texts.vocabulary=400", "texts.sequence=32", "texts.body=0", "texts.dev_pieces=20"]
MASKED += ["model.hidden=32", "model.layers=2", "model.inner=64", "model.positions=64", "training.steps=4"]
SMALL = ["readout=first", "pairs.query_tokens=30", "pairs.candidate_tokens=24", "pairs.context_tokens=16"]
SMALL += [
    "candidates.retriever=bm25",
    "candidates.queries=40",
    "candidates.depth=12",
    "candidates.dev_queries=6",
]
SMALL += ["candidates.dev_depth=6", "objective.negatives=3", "objective.near=6", "training.steps=3"]


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=6, context_rate=3.0)


def test_a_corpus_alone_is_enough(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--corpus", str(corpus.path), "--to", str(tmp_path), "--on", "process", "--no-track", "--json"]
    code, out, err = call(capsys, "train", "masked-lm", *MASKED, *where)
    assert code == 0, err
    masked = json.loads(out)
    assert set(masked["metrics"]) == {"accuracy", "dev loss"}
    encoder = f"encoder={tmp_path / 'masked-lm'}"
    code, out, err = call(capsys, "train", "cross-encoder-small", encoder, *SMALL, *where)
    assert code == 0, err
    trained = json.loads(out)
    assert Path(trained["folder"]) == tmp_path / "cross-encoder"
    assert {"MRR", "R@10", "retriever MRR", "retriever R@10"} <= set(trained["metrics"])

    dev = candidates.load(tmp_path / "candidates", corpus)["dev"]
    reranker = load_cross_encoder(tmp_path, corpus, threads=1)
    scores = reranker.score(dev.queries(corpus), Ranking(dev.rows, np.zeros(dev.rows.shape, np.float32)))
    assert scores.shape == dev.rows.shape
    assert np.isfinite(scores[dev.rows >= 0]).all()
