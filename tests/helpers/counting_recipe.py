"""A kind that is trained in this process, without the engine: it counts to a number, and can be stopped on the way."""

from __future__ import annotations

import shutil
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
    """Counts to ``last``, from the number after the last that an unfinished training wrote."""

    kind: Literal["counting"] = "counting"
    last: int = 3


def train_counting(
    recipe: CountingRecipe, corpus: Corpus, to: Path, progress: ProgressCallback, *, fresh: bool = False
) -> TrainedArtifact:
    checkpoint = to / ".counting.checkpoint"
    if fresh:
        shutil.rmtree(checkpoint, ignore_errors=True)
    checkpoint.mkdir(parents=True, exist_ok=True)
    begun = max((int(path.name) for path in checkpoint.iterdir()), default=0)
    progress.stage("counting", recipe.last)
    for number in range(begun + 1, recipe.last + 1):
        (checkpoint / str(number)).touch()
        progress.log({"number": float(number)}, number)
        progress.advance(1)
    with publish(to / "counting", kind="counting", meta={"last": recipe.last}, replace=True) as folder:
        (folder / "count.txt").write_text(str(recipe.last))
    shutil.rmtree(checkpoint)
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
