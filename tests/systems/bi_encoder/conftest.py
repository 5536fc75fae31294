from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus
from cocite.systems.bi_encoder.citations import KIND, prepare
from cocite.systems.bi_encoder.recipe import BiEncoderRecipe
from cocite.systems.bi_encoder.task import BiEncoderTask, build

MakeTask = Callable[..., BiEncoderTask]


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=4, context_rate=2.0, sentences=True)


@pytest.fixture(scope="session")
def encoder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT that knows the words of the corpus' titles."""
    words = {
        word for title in corpus.papers.take("title", range(len(corpus))) for word in title.lower().split()
    }
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "bert", words)


@pytest.fixture
def make_task(corpus: Corpus, encoder: Path, tmp_path: Path) -> MakeTask:
    """Builds a task: ``make_task(texts={"task": "global"})``."""

    def make(**settings: Any) -> BiEncoderTask:
        texts = {"max_tokens": 48, "dev_queries": 40} | settings.pop("texts", {})
        training = {"batch": 16, "tokens": 2048, "precision": "fp32"} | settings.pop("training", {})
        recipe = BiEncoderRecipe.parse(
            {"encoder": str(encoder), "dropout": 0.0, "texts": texts, "training": training, **settings}
        )
        prepare(recipe.tokens, corpus, tmp_path / KIND)
        return build(recipe, corpus, tmp_path)

    return make
