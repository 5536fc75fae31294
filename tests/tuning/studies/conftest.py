"""A small synthetic corpus with a dev split, and a model folder with every component that a study reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite.text.pair_tokenizer import PairSettings
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train


@pytest.fixture(scope="session")
def store(synthetic: SyntheticCorpora) -> Path:
    """The folder of 300 papers with contexts; the last year is test, the two before it are dev."""
    return synthetic(300, seed=3, context_rate=3.0, split=(3, 1)).path


@pytest.fixture(scope="session")
def model(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NNSelect, NNRank, a learned fusion and a cross-encoder, trained for an epoch or not at all."""
    corpus, root = Corpus.open(store), tmp_path_factory.mktemp("model")
    folder = root / "model"
    words = {word for title in corpus.papers.table["title"].to_pylist() for word in title.lower().split()}
    bert = tiny_bert(root / "bert", words)
    save_sentence_encoder(folder / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=64), {})
    train(load_recipe("nnselect", ["training.epochs=1"]), corpus, folder)
    train(load_recipe("nnrank", ["training.epochs=1", "keep=always"]), corpus, folder)
    trees = {"trees": 10, "leaves": 7, "threads": 1}
    small = {
        "queries": 60,
        "local_depth": 40,
        "global_depth": 40,
        "reserve": 0.6,
        "trees": trees,
        "keep": "always",
    }
    train(FusionRecipe.parse(small), corpus, folder)
    pairs = PairSettings(query_tokens=48, candidate_tokens=48, context_tokens=24)
    CrossEncoder.from_pretrained(bert, pairs).save(folder / "cross-encoder")
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the caches of all studies of this process."""
    return tmp_path_factory.mktemp("scores")
