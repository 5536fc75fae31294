from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.errors import ConfigError, NotFoundError
from cocite.manifests import read_manifest
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe, recipe_path, shipped_recipes
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.train import train


def test_every_shipped_recipe_fits_its_type_and_every_kind_has_one() -> None:
    kinds = {load_recipe(name).model_dump()["kind"] for name in shipped_recipes()}
    assert kinds == set(KINDS) - {"bag"}
    assert {"nnselect", "nnselect-paper", "nnrank", "nnrank-paper", "nnrank-metadata"} <= set(
        shipped_recipes()
    )


def test_mistakes_in_a_recipe_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"^RECIPE: no recipe 'nnselct' .*did you mean 'nnselect'"):
        load_recipe("nnselct")
    with pytest.raises(ConfigError, match=r"unknown key 'training\.btch' .*batch"):
        load_recipe("hatten", ["training.btch=3"])
    for kind in ("kind: hattn\n", "kind: [hatten]\n", "training: {}\n"):
        (tmp_path / "r.yaml").write_text(kind)
        with pytest.raises(ConfigError, match=r"r\.yaml: kind: .* cannot be trained"):
            load_recipe(str(tmp_path / "r.yaml"))


def test_overrides_and_values_change_a_recipe(tmp_path: Path) -> None:
    shipped = load_recipe("hatten")
    as_text = load_recipe("hatten", ["training.batch=24"])
    as_value = load_recipe("hatten", values={"training.batch": 24})
    assert shipped != as_text == as_value
    copy = tmp_path / "ours.yaml"
    copy.write_text(recipe_path("hatten").read_text())
    assert load_recipe(str(copy)) == shipped


LENGTHS: dict[str, Any] = {
    "fields.vocabulary_size": 200_000,
    "fields.min_papers_per_word": 1,
    "fields.max_title": 50,
    "fields.max_abstract": 500,
    "fields.max_authors": 8,
    "fields.max_keyphrases": 20,
    "negatives.max_citations": 100,
    "negatives.pool": "all",
    "negatives.no_later": False,
    "negatives.percentile": 5.0,
    "objective.objective": "paper",
}
"""Citeomatic's Table 8 and Appendix C, for each of its corpora."""
DBLP = LENGTHS | {
    "fields.min_papers_per_author": 1,
    "fields.min_papers_per_venue": 1,
    "fields.min_papers_per_keyphrase": 5,
    "negatives.neighbours": 10,
    "negatives.min_citations": 1,
    "objective.triplets": 500_000,
    "training.batch": 256,
    "training.epochs": 5,  # 2,500,000 triplets
    "training.schedule.plateau": 1.0,
}
"""Tables 6 and 8."""
PUBMED = DBLP | {"negatives.min_citations": 2, "training.optimizer.learning_rate": 0.001}
"""Tables 7 and 8."""
OPENCORPUS = LENGTHS | {
    "negatives.neighbours": 5,
    "negatives.min_citations": 2,
    "model.dimension": 75,
    "objective.triplets": 2_500_000,
    "objective.word_dropout": 0.1,
    "objective.gamma": 1.0,
    "objective.l1": 1e-7,
    "objective.l2": 1e-5,
    "training.optimizer.name": "nadam",
    "training.optimizer.learning_rate": 0.001,
    "training.schedule.plateau": 0.5,  # the factor is that of the authors' code
}
"""Tables 8 and 9."""
NNRANK = {"model.count_log": "log", "objective.temporal": False, "objective.folds": 0}
"""Section 4."""
RERANKER: dict[str, Any] = {
    "encoder": "allenai/scibert_scivocab_uncased",
    "readout": "first",
    "candidates.earlier_only": False,
    "training.optimizer.weight_decay": 0.01,
    "training.optimizer.betas": (0.9, 0.999),
}
"""Nogueira, section 4.2, and HAtten, section 5."""
BERT4CR: dict[str, Any] = {
    "texts.title": False,  # section 4.1.1: the sentences of the abstract
    "model.sentence_layers": 6,
    "model.document_layers": 6,
    "model.hidden": 768,
    "model.heads": 12,
    "model.dropout": 0.1,
    "model.norm": "post",
    "model.pooling": "mean",
    "training.optimizer.weight_decay": 0.01,
    "training.optimizer.clip": 0.0,
    "training.schedule.shape": "inverse-square-root",
    "training.schedule.warmup": 1000,
}
"""MP-BERT4CR, section 4.1.1 and Table 2, the values for ACL."""
PAPER_VALUES: dict[str, dict[str, Any]] = {
    "mp-bert4cr": BERT4CR
    | {
        "pretrained": "mp-bert4cr-pretraining",
        "contexts.around": 1,
        "contexts.earlier": 27,
        "contexts.abstract": 10,
        "contexts.body": 30,
        "contexts.near": 0,
        "contexts.fixed": False,
        "contexts.manuscript_abstract": 0,
        "model.sentences": 40,
        "model.word_dropout": 0.0,
        "model.shared_words": False,
        "model.weighted": False,
        "negatives.count": 4,  # m
        "negatives.power": 0.75,
        "negatives.counted": "occurrences",
        "negatives.spare_manuscript": False,
        "negatives.shared": False,
        "positives.count": 3,  # n
        "positives.power": 0.75,
        "positives.single": False,
        "objective.loss": "mpt-src-tgt",
        "objective.form": "published",
        "training.batch": 1 * 8,
        "training.epochs": 5,
        "training.optimizer.learning_rate": 2e-5,
        "training.optimizer.betas": (0.9, 0.98),
        "training.schedule.start": 1e-9 / 2e-5,
        "dev_body": None,  # the dev metric reads what inference reads
    },
    "mp-bert4cr-pretraining": BERT4CR
    | {
        "decoder_layers": 6,
        "predict": "words",
        "training.batch": 7 * 4,
        "training.epochs": 50,
        "training.optimizer.learning_rate": 1e-4,
        "training.optimizer.betas": (0.9, 0.999),
        "training.schedule.start": 1e-7 / 1e-4,
    },
    "hatten-paper": {
        "objective.objective": "paper",
        "objective.later": "used",
        "objective.spare_manuscript": False,
        "objective.mined": 4,
        "objective.random": 1,
        "objective.cited_against_random": False,
        "objective.depth": 100,
        "objective.margin": 0.1,
        "words.rescaled": False,
        "words.trained": False,
        "model.dimension": 200,
        "model.bag": False,
        "model.roles": False,
        "model.gap_positions": False,
        "training.batch": 64,
        "training.refresh_every": 5000,
        "training.optimizer.learning_rate": 1e-4,
        "training.optimizer.betas": (0.9, 0.999),
        "training.optimizer.weight_decay": 1e-5,
        "training.optimizer.clip": 0.0,
        "training.schedule.shape": "constant",
    },
    "nnselect-paper": DBLP
    | {
        "model.dimension": 300,
        "model.finetune": True,
        "objective.gamma": 1.0,
        "objective.word_dropout": 0.6,
        "objective.l1": 1e-7,
        "objective.l2": 0.0,
        "training.optimizer.learning_rate": 0.01,
    },
    "nnrank-paper": DBLP
    | NNRANK
    | {
        "model.dimension": 175,
        "model.metadata_dimension": 45,
        "model.siamese": True,
        "objective.gamma": 0.5,
        "objective.word_dropout": 0.35,
        "objective.l1": 1e-4,
        "objective.l2": 1e-3,
        "candidates.neighbours": 10,
        "training.optimizer.learning_rate": 0.01,
    },
    "nnselect-paper-pubmed": PUBMED
    | {
        "model.dimension": 325,
        "model.pretrained": None,
        "objective.gamma": 0.5,
        "objective.word_dropout": 0.55,
        "objective.l1": 1e-6,
        "objective.l2": 0.0,
    },
    "nnrank-paper-pubmed": PUBMED
    | NNRANK
    | {
        "model.dimension": 150,
        "model.metadata_dimension": 40,
        "model.siamese": True,
        "objective.gamma": 1.5,
        "objective.word_dropout": 0.1,
        "objective.l1": 1e-6,
        "objective.l2": 0.0,
        "candidates.neighbours": 10,
    },
    "nnselect-paper-opencorpus": OPENCORPUS
    | {
        "model.pretrained": None,
        "training.batch": 256,
        "training.epochs": 10,  # 25,000,000 triplets
    },
    "nnrank-paper-opencorpus": OPENCORPUS
    | NNRANK
    | {
        "fields.min_papers_per_author": 10,
        "fields.min_papers_per_venue": 10,
        "fields.min_papers_per_keyphrase": 10,
        "model.metadata_dimension": 25,
        "model.siamese": False,
        "candidates.neighbours": 5,
        "training.batch": 32,
        "training.epochs": 40,  # 100,000,000 triplets
    },
    "scibert-local": RERANKER
    | {
        "pairs.layout": "local",
        "pairs.context": "last",
        "pairs.gap": "[CIT]",
        "candidates.retriever": "hatten",
        "candidates.depth": 2000,
        "objective.loss": "triplet",
        "objective.margin": 0.1,
        "objective.candidates": "sampled",
        "objective.negatives": 62,
        "training.batch": 1,
        "training.optimizer.learning_rate": 1e-5,
        "training.optimizer.clip": 0.0,
        "training.schedule.shape": "constant",
        "training.schedule.warmup": 0,
    },
    "scibert-global": RERANKER
    | {
        "dropout": 0.1,
        "pairs.layout": "global",
        "pairs.query_tokens": 256,
        "pairs.candidate_tokens": 256,
        "pairs.share": False,
        "candidates.retriever": "bm25",
        "candidates.depth": 10,
        "objective.loss": "pointwise",
        "objective.candidates": "top",
        "objective.balanced": False,
        "objective.top": 10,
        "training.epochs": 1,  # 1.1
        "training.optimizer.learning_rate": 3e-6,
        "training.schedule.shape": "linear",
        "training.schedule.final": 0.0,
    },
}
"""What the papers state, and what they leave out where cocite's own recipes have it.

The values were read in the papers, not in the recipes.
"""
DEPARTURES: dict[str, dict[str, tuple[Any, str]]] = {
    "scibert-global": {
        "training.batch": (13, "13 queries of ten are about 128 pairs"),
        "training.schedule.warmup": (0.033, "a thirtieth of all steps, as 10,000 are of the paper's 300,000"),
    },
    "hatten-paper": {"words.source": ("corpus", "the recipe's source is word2vec over the corpus")},
    "nnselect-paper": {"model.pretrained": (None, "word2vec vectors of OpenCorpus, which must be given")},
}
"""Settings in which a paper's recipe differs from its paper: the recipe's value, and how ``docs/papers.md`` says so."""


@pytest.mark.parametrize(
    ("recipe", "key", "value"),
    [(recipe, key, value) for recipe, values in PAPER_VALUES.items() for key, value in values.items()],
)
def test_a_paper_recipe_has_the_papers_value(recipe: str, key: str, value: Any) -> None:
    found = attrgetter(key)(load_recipe(recipe))
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize("recipe", [name for name in PAPER_VALUES if name.startswith("nn")])
def test_a_query_of_citeomatic_has_six_triplets(recipe: str) -> None:
    drawn = load_recipe(recipe).model_dump()["negatives"]
    assert drawn["random"] + drawn["neighbour"] + drawn["cited_by_cited"] == 6


def test_a_paper_recipe_departs_where_docs_papers_says_so() -> None:
    page = (Path(__file__).parents[3] / "docs" / "papers.md").read_text(encoding="utf-8")
    for recipe, values in DEPARTURES.items():
        for key, (value, sentence) in values.items():
            assert key not in PAPER_VALUES[recipe]
            assert attrgetter(key)(load_recipe(recipe)) == value
            assert sentence in page


FEW = (
    "workers.count=0",
    "workers.gpus=0",
    "training.precision=fp32",
    "training.steps=3",
    "training.log_every=1",
)
TRIPLETS = (
    *("objective.triplets=512", "fields.min_papers_per_author=1", "training.batch=64"),
    *("training.steps=3", "training.log_every=1"),
)
PAIRS = (
    *(
        "pairs.query_tokens=40",
        "pairs.candidate_tokens=24",
        "candidates.queries=20",
        "candidates.dev_queries=8",
    ),
    *("candidates.dev_depth=8", "training.tokens=2000", "encoder={encoder}", "keep=always"),
)
SENTENCES = (
    *(
        "texts.vocabulary=400",
        "texts.sentence_tokens=24",
        "model.sentence_tokens=24",
        "model.sentence_layers=1",
    ),
    *("model.document_layers=1", "model.hidden=24", "model.heads=2", "model.inner=48"),
    *("training.backend=plain", "training.zero=0", "training.evaluate_every=0"),
)
TRAININGS: list[dict[str, tuple[str, ...]]] = [
    *(
        {f"{kind}-{table}": TRIPLETS for kind in ("nnselect", "nnrank")}
        for table in ("paper", "paper-pubmed", "paper-opencorpus")
    ),
    {
        "hatten-paper": (
            *(*FEW, "model.dimension=16", "model.heads=2", "model.feed_forward=16", "dev_contexts=20"),
            *(
                "objective.depth=20",
                "training.batch=8",
                "training.refresh_every=2",
                "training.evaluate_every=0",
            ),
        ),
        "scibert-local": (
            *FEW,
            *PAIRS,
            "pairs.context_tokens=16",
            "candidates.depth=20",
            "objective.negatives=5",
        ),
    },
    {"scibert-global": (*FEW, *PAIRS, "training.batch=4")},
    {
        "mp-bert4cr-pretraining": (*FEW, *SENTENCES, "decoder_layers=1"),
        "mp-bert4cr": (*FEW, *SENTENCES, "dev_contexts=20"),
    },
]
"""The recipes of the papers with what makes them small enough for a test, in the order of training into one folder."""


def test_every_recipe_of_a_paper_is_trained() -> None:
    assert sorted(name for chain in TRAININGS for name in chain) == sorted(PAPER_VALUES)


@pytest.mark.parametrize("chain", TRAININGS, ids=lambda chain: ", ".join(chain))
def test_a_papers_recipes_train(
    synthetic: SyntheticCorpora, tmp_path: Path, chain: dict[str, tuple[str, ...]]
) -> None:
    """End to end, in this process: inputs, candidates, steps, dev metrics, export."""
    corpus = synthetic(300, seed=7, split=(3, 1), sentences=True, context_rate=3.0)
    encoder = tiny_bert(tmp_path / "encoder", ["parsing", "model", "neural", "graph"])
    for name, overrides in chain.items():
        recipe: Any = load_recipe(name, [text.format(encoder=encoder) for text in overrides])
        logged: list[dict[str, float]] = []
        progress = ProgressFunctions(log=lambda metrics, _, logged=logged: logged.append(metrics))  # type: ignore[misc]
        trained = train(recipe, corpus, tmp_path / "model", progress)
        assert trained.metrics
        assert read_manifest(trained.folder).kind == recipe.kind
        losses = [metrics["loss"] for metrics in logged if "loss" in metrics]
        assert len(losses) == 3
        assert np.isfinite(losses).all()
