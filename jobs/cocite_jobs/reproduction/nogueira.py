"""The plan of BM25 + SciBERT (Nogueira et al., 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from cocite.evaluation.report import Table
from cocite_jobs.reproduction.corpus_exhibit import corpus_exhibit
from cocite_jobs.reproduction.plan import Exhibit, Plan, Plot, Setup, Size
from cocite_jobs.reproduction.rerankers import encoder_trainings, reranker_training
from cocite_jobs.tables.reranking import reranking_tables

RERANKER = "reranker"
GLOBAL = (
    *("pairs.layout=global", "pairs.share=false", "candidates.task=global", "candidates.retriever=bm25"),
    *("candidates.depth=10", "objective.loss=pointwise", "objective.candidates=top", "objective.top=10"),
)
"""What makes a small recipe train as the paper does: title and abstract, cross-entropy over BM25's top 10."""
RECIPES: Mapping[Size, tuple[str, tuple[str, ...]]] = {
    "toy": ("cross-encoder-small", GLOBAL),
    "small": ("cross-encoder-small", (*GLOBAL, "pairs.query_tokens=64", "pairs.candidate_tokens=64")),
    "paper": ("scibert-global", ()),
}
DEPTHS: Mapping[Size, int] = {"toy": 30, "small": 50, "paper": 1000}
"""Size -> candidates that are reranked: more than 20, whose order alone F1@20 does not see."""
SAMPLES: Mapping[Size, int | None] = {"toy": 20, "small": 300, "paper": 20_000}
"""Size -> queries of each split."""
IMPOSSIBLE = {
    "Table 3": (
        "It compares eleven pretrained encoders; with --encoder the dev columns of Table 2 are the row of one of them."
    ),
    "Citeomatic and ClusCite in Table 2": "cocite reproduce citeomatic measures the one; cocite has not the other.",
    "Balanced classes (section 5.2)": "The paper prints no number of it, and cocite has no setting for it.",
    "The paper's points of Figure 1": "They are drawn there and not printed.",
}


def plan(setup: Setup) -> Plan:
    """The trainings and exhibits of BM25 + SciBERT on a corpus."""
    recipe, changes = RECIPES[setup.size]
    reranker = reranker_training(setup, RERANKER, recipe, changes, to="model")
    trainings = [*encoder_trainings(setup), reranker]
    needs = tuple(training.name for training in trainings)
    anserini = {"bm25": "BM25 (Anserini)"}
    if setup.size == "paper" and setup.encoder is None:
        anserini["bm25 + cross-encoder"] = "BM25 + SciBERT-Large"
    exhibits = [
        corpus_exhibit(setup, "nogueira"),
        Exhibit(
            "table2",
            "Table 2: BM25 and the cross-encoder, on dev and test",
            _both_splits,
            _command(setup, "bm25", "test"),
            needs,
            names=anserini,
        ),
        Exhibit(
            "table4",
            "Table 4: BM25 by the form of the query, on dev",
            partial(_make, name="forms", split="dev"),
            _command(setup, "forms", "dev"),
            # The table is BM25's alone; the model folder that it is asked with is the reranker's.
            needs,
            names={
                "key-terms-by-field": "Key Terms (Whoosh)",
                "title": "Title",
                "title+abstract": "Title and Abstract",
            },
        ),
        Exhibit(
            "figure1",
            "Figure 1: tokens of the query, on dev",
            partial(_make, name="budgets", split="dev"),
            _command(setup, "budgets", "dev"),
            needs,
            plot=Plot("columns", ("F1@20",), "tokens of the query", "F1@20"),
        ),
    ]
    citation = "Nogueira, Jiang, Cho, Lin: Evaluating Pretrained Transformer Models for Citation Recommendation. 2020."
    return Plan("nogueira", citation, tuple(trainings), tuple(exhibits), IMPOSSIBLE)


def _both_splits(setup: Setup) -> Table:
    """Table 2 has a column for each metric and split."""
    parts = {split: _make(setup, name="bm25", split=split) for split in ("dev", "test")}
    metrics = parts["test"].columns[1:]
    columns = [f"{metric}, {split}" for metric in metrics for split in parts]
    rows: list[list[Any]] = []
    for dev, test in zip(parts["dev"].rows, parts["test"].rows, strict=True):
        cells = [cell for pair in zip(dev[1:], test[1:], strict=True) for cell in pair]
        rows.append([test[0], *cells])
    return Table("Table 2", ["system", *columns], rows, parts["test"].note)


def _make(setup: Setup, *, name: str, split: str) -> Table:
    [table] = reranking_tables(
        setup.corpus,
        setup.model,
        only=[name],
        task="global",
        split=split,
        sample=_sample(setup),
        seed=setup.query_seed,
        depths=(DEPTHS[setup.size],),
        prefetcher="bm25",
        bars=setup.bars,
    ).tables
    return table


def _command(setup: Setup, name: str, split: str) -> str:
    line = [
        "evaluate",
        "reranking",
        "--model",
        setup.model,
        "--only",
        name,
        "--task",
        "global",
        "--split",
        split,
    ]
    line += ["--sample", _sample(setup), "--seed", setup.query_seed, "--depths", DEPTHS[setup.size]]
    return setup.command(*line, *(["--prefetcher", "bm25"] if name == "budgets" else []))


def _sample(setup: Setup) -> int | None:
    return SAMPLES[setup.size] if setup.sample is None else setup.sample
