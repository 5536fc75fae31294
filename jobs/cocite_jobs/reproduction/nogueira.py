"""The plan of BM25 + SciBERT (Nogueira et al., 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cocite.evaluation.report import Table
from cocite_jobs.reproduction.corpus_exhibit import corpus_exhibit
from cocite_jobs.reproduction.nogueira_rerankers import (
    BALANCED,
    balanced_trainings,
    encoder_folders,
    encoder_rerankers,
    folders_of_splits,
    main_reranker,
    split_trainings,
)
from cocite_jobs.reproduction.plan import Exhibit, Plan, Plot, Setup, Size
from cocite_jobs.reproduction.rerankers import NO_LIST, encoder_trainings
from cocite_jobs.tables.reranking import reranking_tables
from cocite_jobs.tables.token_splits import TRAINED

DEPTHS: Mapping[Size, int] = {"toy": 30, "small": 50, "paper": 1000}
"""Size -> candidates that are reranked: more than 20, whose order alone F1@20 does not see."""
SAMPLES: Mapping[Size, int | None] = {"toy": 20, "small": 300, "paper": 20_000}
"""Size -> queries of each split."""
IMPOSSIBLE = {
    "Citeomatic and ClusCite in Table 2": "cocite reproduce citeomatic measures both.",
    "BM25 + SciBERT-Large in Table 2": "Its weights are on the hub under no name that we know; ours is SciBERT-base.",
    "The paper's numbers of section 5.2": "It prints none: F1@20 and MRR are close to zero there.",
    "The paper's points of Figure 1": "They are drawn there and not printed.",
}
ENCODERS_OF_PAPER = {
    "bionlp/bluebert_pubmed_mimic_uncased_L-12_H-768_A-12": "(1) NCBI, base",
    "bionlp/bluebert_pubmed_mimic_uncased_L-24_H-1024_A-16": "(2) NCBI, large",
    "google-bert/bert-base-uncased": "(3) Google, base",
    "google-bert/bert-large-uncased": "(4) Google, large",
    "google-bert/bert-large-uncased-whole-word-masking": "(5) Google WWM, large",
    "FacebookAI/roberta-large": "(6) RoBERTa, large",
    "dmis-lab/biobert-base-cased-v1.1": "(7) BioBERT v1.1, base",
    "allenai/scibert_scivocab_uncased": "(9) SciBERT, base, own vocabulary",
}
"""Name on the Hugging Face hub -> row of Table 3, where the paper's encoder is published under that name."""


def plan(setup: Setup) -> Plan:
    """The trainings and exhibits of BM25 + SciBERT on a corpus."""
    first = [*encoder_trainings(setup), main_reranker(setup)]
    needs = tuple(training.name for training in first)
    others, balanced, splits = encoder_rerankers(setup), balanced_trainings(setup), split_trainings(setup)
    exhibits = [
        corpus_exhibit(setup, "nogueira"),
        Exhibit(
            "table2",
            "Table 2: BM25 and the cross-encoder, on dev and test",
            _both_splits,
            _command(setup, "bm25", "test"),
            needs,
            # SciBERT-Large keeps a row of its own: what is trained here is SciBERT-base, or the encoder that was named.
            names={"bm25": "BM25 (Anserini)"},
        ),
        Exhibit(
            "table3",
            "Table 3: BM25's candidates reranked from each encoder, on dev",
            _each_encoder,
            "\n".join(_command(setup, "bm25", "dev", folder) for folder in encoder_folders(setup).values()),
            (*needs, *(training.name for training in others)),
            names=ENCODERS_OF_PAPER if setup.size == "paper" else {},
            why_not="" if others else NO_LIST,
        ),
        Exhibit(
            "section52",
            "Section 5.2: balanced classes and random candidates against unbalanced classes, on dev",
            _balance,
            "\n".join(
                _command(setup, "bm25", "dev", folder) for folder in _folders_of_balance(setup).values()
            ),
            (*needs, *(training.name for training in balanced)),
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
            (*needs, *(training.name for training in splits)),
            plot=Plot("columns", ("F1@20", f"F1@20, {TRAINED}"), "tokens of the query", "F1@20"),
        ),
    ]
    citation = "Nogueira, Jiang, Cho, Lin: Evaluating Pretrained Transformer Models for Citation Recommendation. 2020."
    trainings = (*first, *others, *balanced, *splits)
    return Plan("nogueira", citation, trainings, tuple(exhibits), IMPOSSIBLE)


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


def _each_encoder(setup: Setup) -> Table:
    """Table 3 has a row for each encoder, here below that of BM25."""
    return _rows_of(setup, "encoder", encoder_folders(setup))


def _balance(setup: Setup) -> Table:
    return _rows_of(setup, "classes", _folders_of_balance(setup))


def _folders_of_balance(setup: Setup) -> dict[str, Path]:
    """Row -> model folder."""
    return {"unbalanced": setup.model, **{row: setup.folder / to for row, (to, _) in BALANCED.items()}}


def _rows_of(setup: Setup, what: str, folders: Mapping[str, Path]) -> Table:
    """BM25 on dev, and the order of its candidates by each of several cross-encoders."""
    made = {name: _make(setup, name="bm25", split="dev", model=model) for name, model in folders.items()}
    some = next(iter(made.values()))
    rows = [some.rows[0], *([name, *table.rows[1][1:]] for name, table in made.items())]
    # Reranking finds nothing new: R@1000 is that of BM25 in each row.
    return Table("", [what, *some.columns[1:-1]], [row[:-1] for row in rows], some.note)


def _make(setup: Setup, *, name: str, split: str, model: Path | None = None) -> Table:
    [table] = reranking_tables(
        setup.corpus,
        model or setup.model,
        only=[name],
        task="global",
        split=split,
        sample=setup.sample_of(SAMPLES),
        seed=setup.query_seed,
        depths=(DEPTHS[setup.size],),
        prefetcher="bm25",
        trained=folders_of_splits(setup) if name == "budgets" else (),
        bars=setup.bars,
    ).tables
    return table


def _command(setup: Setup, name: str, split: str, model: Path | None = None) -> str:
    line: list[Any] = [
        "evaluate",
        "reranking",
        "--model",
        model or setup.model,
        "--only",
        name,
        "--task",
        "global",
        "--split",
        split,
    ]
    line += ["--sample", setup.sample_of(SAMPLES), "--seed", setup.query_seed, "--depths", DEPTHS[setup.size]]
    if name == "budgets":
        line += ["--prefetcher", "bm25"]
        for folder in folders_of_splits(setup):
            line += ["--trained", folder]
    return setup.command(*line)
