"""The plan of Citeomatic (Bhagavatula et al., 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from cocite.evaluation.report import SELF_CITATION_DEPTHS, Table
from cocite_jobs.reproduction.corpus_exhibit import corpus_exhibit
from cocite_jobs.reproduction.plan import Exhibit, Plan, Plot, Setup, Size, Training
from cocite_jobs.reproduction.recipe_settings import changed_recipe
from cocite_jobs.reproduction.training_step import recipe_training
from cocite_jobs.tables.citeomatic import citeomatic_tables
from cocite_jobs.tables.citeomatic_variants import (
    ABLATIONS,
    ENCODERS,
    METADATA,
    NO_NEIGHBOURS,
    TEXT_ONLY,
    WITH_METADATA,
    WITHOUT,
    CiteomaticVariants,
)
from cocite_jobs.tables.corpus_statistics import has_values
from cocite_jobs.tables.reranking import reranking_tables
from cocite_jobs.training.recipes import load_recipe

KEEP = "keep=always"
"""NNRank is measured even where it is below NNSelect on dev."""
RECIPES: Mapping[Size, tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]] = {
    "toy": (
        ("nnselect", ("model.dimension=8", "training.epochs=1", "training.checkpoint_every=1")),
        (
            "nnrank",
            (
                *("model.dimension=8", "model.metadata_dimension=4", "model.hidden=[4,4]"),
                *("candidates.neighbours=10", "training.epochs=1", "training.checkpoint_every=1", KEEP),
            ),
        ),
    ),
    "small": (("nnselect", ()), ("nnrank", (KEEP,))),
    "paper": (("nnselect-paper", ()), ("nnrank-paper", (KEEP,))),
}
"""Size -> recipes of NNSelect and of NNRank, with what is changed in them."""
SAMPLES: Mapping[Size, int | None] = {"toy": 30, "small": 1000, "paper": None}
"""Size -> test papers that are queries; None: all."""
DEV_PAPERS = 1000
"""Papers of dev that Table 4 asks with, as in the paper."""
IMPOSSIBLE = {
    "Figures 1 and 2": "They are drawings of the system, and docs/papers.md names the file of each part.",
    "Ren et al.'s BM25 in Table 5": "It is another program's, whose numbers the paper cites.",
    "Tables 6 to 9": "They are settings and no results: the recipes nnselect-paper and nnrank-paper have them.",
    "The paper's points of Figures 3 and 4": "They are drawn there and not printed.",
}


def plan(setup: Setup) -> Plan:
    """The trainings and exhibits of Citeomatic on a corpus."""
    (select, select_changes), (rank, rank_changes) = RECIPES[setup.size]
    trainings = [
        recipe_training("nnselect", select, select_changes),
        recipe_training("nnrank", rank, rank_changes, weight=2),
        *(_variant(name) for name in (*WITHOUT, *ENCODERS)),
    ]
    base = ("nnselect", "nnrank")
    systems: tuple[str, ...] = base
    if (other := _other_reading(setup)) is not None:
        trainings.insert(2, other)
        systems = (*base, other.name)
    no_venue = "" if has_values(setup.corpus, "venue") else "The corpus names no venues."
    no_authors = "" if has_values(setup.corpus, "authors") else "The corpus names no authors."
    depths = f"1 to {SELF_CITATION_DEPTHS[-1]}"
    rankers = ("NNRank", "NNRank + metadata")
    ranks = [f"{kind} rank, {name}" for name in rankers for kind in ("mean", "max")]
    exhibits = [
        corpus_exhibit(setup, "citeomatic"),
        _exhibit(setup, "2", "Table 2: F1@20 and MRR of the systems", systems),
        _exhibit(setup, "3", "Table 3: what the parts of NNRank add", (*base, *WITHOUT)),
        _exhibit(
            setup,
            "4",
            "Table 4: recall and precision by the number of neighbours",
            base,
            plot=Plot("columns", ("R@20", "P@20"), "neighbours", "of the NNSelect step", "OpenCorpus"),
        ),
        _exhibit(
            setup,
            "figure3",
            "Figure 3: F1@20 of NNRank by venue",
            systems,
            plot=Plot("bars", tuple(f"F1@20, {name}" for name in rankers), "F1@20", ""),
            why_not=no_venue,
        ),
        _exhibit(
            setup,
            "figure4",
            "Figure 4: ranks of papers by the query's own authors",
            systems,
            plot=Plot("columns", tuple(ranks), f"predictions, {depths}", "rank"),
            why_not=no_authors,
        ),
        _bm25_exhibit(setup),
        _exhibit(setup, "10", "Table 10: the systems by more metrics", systems),
        _exhibit(setup, "encoders", "Section 5: RNN and CNN encoders of texts", (*base, *ENCODERS)),
    ]
    citation = "Bhagavatula, Feldman, Power, Ammar: Content-Based Citation Recommendation. NAACL 2018."
    return Plan("citeomatic", citation, tuple(trainings), tuple(exhibits), IMPOSSIBLE)


def _exhibit(
    setup: Setup,
    name: str,
    title: str,
    needs: tuple[str, ...],
    *,
    names: Mapping[str, str] | None = None,
    plot: Plot | None = None,
    why_not: str = "",
) -> Exhibit:
    sample = setup.sample_of(SAMPLES)
    # Table 4 was made with papers of dev.
    split = "dev" if name == "4" else "test"
    if name == "4":
        sample = min(sample or DEV_PAPERS, DEV_PAPERS)
    line = [
        "evaluate",
        "tables",
        "--model",
        setup.model,
        "--only",
        name,
        "--split",
        split,
        "--seed",
        setup.query_seed,
    ]
    command = setup.command(
        *line, *([] if sample is None else ["--sample", sample]), *_fewest_citations(setup)
    )
    make = partial(_make, name=name, split=split, sample=sample)
    id_ = f"table{name}" if name.isdecimal() else {"encoders": "section5"}.get(name, name)
    return Exhibit(id_, title, make, command, needs, names or {}, plot, why_not)


def _make(setup: Setup, *, name: str, split: str, sample: int | None) -> Table:
    [table] = citeomatic_tables(
        setup.corpus,
        setup.model,
        only=[name],
        split=split,
        sample=sample,
        seed=setup.query_seed,
        min_citations=setup.min_citations,
        bars=setup.bars,
    ).tables
    return table


def _fewest_citations(setup: Setup) -> list[object]:
    """The option that says how many citations a query has at least, where the setup does."""
    return [] if setup.min_citations is None else ["--min-citations", setup.min_citations]


def _bm25_exhibit(setup: Setup) -> Exhibit:
    """Table 5: BM25 by what it reads of a query; the paper's own is asked with key terms."""
    line = ["evaluate", "reranking", "--model", setup.model, "--only", "forms", "--task", "global"]
    sample = setup.sample_of(SAMPLES)
    line += ["--seed", setup.query_seed, *([] if sample is None else ["--sample", sample])]
    line += _fewest_citations(setup)
    # The table is BM25's alone; the model folder is that which the command is asked with.
    return Exhibit(
        "table5",
        "Table 5: BM25 by the form of the query",
        _bm25,
        setup.command(*line),
        ("nnselect",),
        {"key-terms-by-field": "Our approximation"},
    )


def _bm25(setup: Setup) -> Table:
    [table] = reranking_tables(
        setup.corpus,
        setup.model,
        only=["forms"],
        task="global",
        sample=setup.sample_of(SAMPLES),
        seed=setup.query_seed,
        min_citations=setup.min_citations,
        bars=setup.bars,
    ).tables
    return table


def _variant(name: str) -> Training:
    """A variant of Table 3 or section 5, by the recipes of the models that are there, within their limits of time."""
    kinds = ("nnselect", "nnrank") if name in (NO_NEIGHBOURS, *ENCODERS) else ("nnrank",)
    artifacts = tuple(f"model/{ABLATIONS}/{name}/{kind}" for kind in kinds)

    def train(setup: Setup, minutes: float | None) -> None:
        variants = CiteomaticVariants(setup.corpus, setup.model, setup.bars, minutes)
        if name in ENCODERS:
            variants.with_encoder(name)
        else:
            variants.without(name)

    return Training(name, artifacts, train, weight=1 + len(kinds))


def _other_reading(setup: Setup) -> Training | None:
    """The NNRank that Table 2 compares the main one with: of metadata too, or of text alone where that reads metadata.

    None: the main one reads text alone, and the corpus has no metadata.
    """
    name = TEXT_ONLY if _reads_metadata(setup) else WITH_METADATA
    if name == WITH_METADATA and not any(has_values(setup.corpus, field) for field in METADATA):
        return None

    def train(setup: Setup, minutes: float | None) -> None:
        variants = CiteomaticVariants(setup.corpus, setup.model, setup.bars, minutes)
        if name == TEXT_ONLY:
            variants.text_only()
        else:
            variants.with_metadata()

    return Training(name, (f"model/{ABLATIONS}/{name}/nnrank",), train, weight=2)


def _reads_metadata(setup: Setup) -> bool:
    """Whether the main NNRank reads metadata, with what the setup changes in its recipe."""
    _, (recipe, changes) = RECIPES[setup.size]
    recipe, more = changed_recipe(setup.settings, "nnrank", recipe)
    if load_recipe(recipe).kind != "nnrank":  # type: ignore[attr-defined]
        return False  # it is refused with the other settings
    settings: Any = load_recipe(recipe, [*changes, *more])
    return bool(settings.model.metadata)
