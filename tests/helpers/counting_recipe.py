"""A kind that is trained in this process, without the engine: it counts to a number, and can be stopped on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.registry import KINDS, RecipeKind
from cocite_jobs.training.types import TrainedArtifact


class CountingRecipe(Settings):
    """Counts from 1 to ``last``."""

    kind: Literal["counting"] = "counting"
    last: int = 3


def train_counting(
    recipe: CountingRecipe, corpus: Corpus, to: Path, progress: ProgressCallback
) -> TrainedArtifact:
    progress.stage("counting", recipe.last)
    for number in range(1, recipe.last + 1):
        progress.log({"number": float(number)}, number)
        progress.advance(1)
    with publish(to / "counting", kind="counting", meta={"last": recipe.last}, replace=True) as folder:
        (folder / "count.txt").write_text(str(recipe.last))
    return TrainedArtifact(to / "counting", {"number": float(recipe.last)})


@contextmanager
def counting_kind() -> Iterator[None]:
    """Register the kind while the block runs."""
    module = "helpers.counting_recipe"
    KINDS["counting"] = RecipeKind(f"{module}:CountingRecipe", trainer=f"{module}:train_counting")
    try:
        yield
    finally:
        del KINDS["counting"]
