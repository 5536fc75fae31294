"""The cross-encoders that BM25 + SciBERT compares: from several encoders, of other classes, by split of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cocite.systems.cross_encoder import pair_tokens
from cocite.training import candidates
from cocite_jobs.reproduction.plan import Setup, Size, Training
from cocite_jobs.reproduction.rerankers import first_encoder, further_folders, reranker_training
from cocite_jobs.tables.token_splits import split_of

RERANKER = "reranker"
GLOBAL = (
    *("pairs.layout=global", "pairs.share=false", "candidates.task=global", "candidates.retriever=bm25"),
    *("candidates.depth=10", "objective.loss=pointwise", "objective.candidates=top", "objective.top=10"),
    "readout=first",
)
"""What makes a small recipe train as the paper does: title and abstract, cross-entropy over BM25's top 10, [CLS]."""
RECIPES: Mapping[Size, tuple[str, tuple[str, ...]]] = {
    "toy": ("cross-encoder-small", GLOBAL),
    "small": ("cross-encoder-small", (*GLOBAL, "pairs.query_tokens=64", "pairs.candidate_tokens=64")),
    "paper": ("scibert-global", ()),
}
RANDOM = "objective.random=10"
"""Candidates of each query that are drawn from all papers."""
BALANCED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "balanced with cited papers that BM25 missed": ("balanced/missed", ("objective.balanced=true",)),
    "balanced": ("balanced/found", ("objective.balanced=true", "objective.missed=false")),
    "with candidates drawn at random": (
        "balanced/random",
        ("objective.balanced=false", RANDOM),
    ),
}
"""Row -> folder, and changes to the recipe. The first and the last are the paper's experiments; the second tells apart
whether the balance does harm, or the cited papers that share few words with the query. The paper does not say how many
candidates are drawn at random: here as many as are BM25's."""
TOKENS: Mapping[Size, int] = {"toy": 80, "small": 128, "paper": 512}
"""Size -> tokens of a pair."""
SPLITS: Mapping[Size, Sequence[int]] = {"toy": (2, 6), "small": (2, 4, 6), "paper": (1, 2, 3, 5, 6, 7)}
"""Size -> eighths of the tokens that the query gets, where a reranker is trained for the split."""
SHORT_MINUTES = 10
"""Most minutes of each of these trainings at ``small``."""


def main_reranker(setup: Setup) -> Training:
    """The reranker of the first encoder, which most tables measure."""
    recipe, changes = RECIPES[setup.size]
    return reranker_training(setup, RERANKER, recipe, changes, to="model")


def encoder_folders(setup: Setup) -> dict[str, Path]:
    """Each encoder -> the model folder of its reranker: the first one, and those that are named besides.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> setup = Setup(starter_corpus(), Path("to"), "toy", encoder="first", more_encoders=("allenai/scibert",))
        >>> {name: str(folder) for name, folder in encoder_folders(setup).items()}
        {'first': 'to/model', 'allenai/scibert': 'to/encoders/allenai-scibert-be95de'}
    """
    return {first_encoder(setup): setup.model} | further_folders(setup)


def encoder_rerankers(setup: Setup) -> list[Training]:
    """A reranker from each encoder that is named after the first."""
    recipe, changes = RECIPES[setup.size]
    return [
        reranker_training(
            setup,
            f"{RERANKER} of {name}",
            recipe,
            changes,
            to=str(encoder_folders(setup)[name].relative_to(setup.folder)),
            encoder=name,
            inputs=[candidates.KIND],
        )
        for name in setup.more_encoders
    ]


def balanced_trainings(setup: Setup) -> list[Training]:
    """Rerankers of balanced classes and of random candidates, as long as the main one."""
    recipe, changes = RECIPES[setup.size]
    return [
        reranker_training(
            setup,
            f"{RERANKER}, {row}",
            recipe,
            changes,
            own=more,
            to=to,
            # The main one's tokens are of its candidates alone, and random candidates may be any papers.
            inputs=[candidates.KIND] if RANDOM in more else [candidates.KIND, pair_tokens.KIND],
        )
        for row, (to, more) in BALANCED.items()
    ]


def split_trainings(setup: Setup) -> list[Training]:
    """A reranker for each of some splits of the tokens between query and candidate."""
    recipe, changes = RECIPES[setup.size]
    is_short = setup.size == "small"
    made = []
    for eighths in SPLITS[setup.size]:
        query, candidate = split_of(TOKENS[setup.size], eighths)
        more = [f"pairs.query_tokens={query}", f"pairs.candidate_tokens={candidate}"]
        more += [f"training.minutes={SHORT_MINUTES}"] if is_short else []
        name = f"{RERANKER} of {query} + {candidate} tokens"
        made.append(
            reranker_training(
                setup,
                name,
                recipe,
                changes,
                own=more,
                to=f"splits/{query}",
                weight=0.5 if is_short else 2,
                inputs=[candidates.KIND],
            )
        )
    return made


def folders_of_splits(setup: Setup) -> list[Path]:
    """The model folders of those, and of the main reranker where it was trained as they are."""
    size = setup.size
    folders = [setup.folder / "splits" / str(split_of(TOKENS[size], eighths)[0]) for eighths in SPLITS[size]]
    return [*folders, setup.model] if size == "paper" else folders
