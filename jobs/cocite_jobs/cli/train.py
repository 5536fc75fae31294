"""``cocite train``: a recipe, a corpus, a model folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cocite.cli.console import JsonFlag, emit, err, progress, table

app = typer.Typer(help="Train a model from a recipe.", add_completion=False)


@app.command()
def train(
    recipe: Annotated[
        str, typer.Argument(help="Name of a shipped recipe (nnselect, nnrank, ...) or a YAML file.")
    ],
    overrides: Annotated[list[str] | None, typer.Argument(help="key.path=value, any number.")] = None,
    corpus: Annotated[Path, typer.Option("--corpus", help="Corpus store to train on.")] = Path("corpus"),
    to: Annotated[Path, typer.Option("--to", help="Model folder; the artifact is a subfolder.")] = Path(
        "model"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on from an unfinished training.")] = False,
    track: Annotated[bool, typer.Option("--track/--no-track", help="Keep the run in MLflow.")] = True,
    json_: JsonFlag = False,
) -> None:
    """Train a model and write it into a model folder. A training that was stopped goes on where it was."""
    from cocite.corpus.store import Corpus
    from cocite_jobs import tracking
    from cocite_jobs.train import Report, load_recipe
    from cocite_jobs.train import train as run_training

    settings = load_recipe(recipe, overrides or [])
    kind = str(getattr(settings, "kind", recipe))
    store = Corpus.open(corpus)
    params = {"recipe": recipe, **settings.model_dump(mode="json")}
    tags = {"corpus": store.version, "kind": kind}
    kept = tracking.Tracking(enabled=track)
    epochs: list[dict[str, float]] = []

    with (
        tracking.run(kind, experiment="train", params=params, tags=tags, tracking=kept) as run,
        _stages() as bar,
    ):

        def log(metrics: dict[str, float], step: int) -> None:
            epochs.append(metrics)
            run.log(metrics, step)
            if not json_:
                values = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())
                err.print(f"epoch {step}: {values}", highlight=False, soft_wrap=True)

        result = run_training(settings, store, to, Report(log, bar.stage, bar.advance), fresh=fresh)
        run.log({f"best.{name}": value for name, value in result.metrics.items()}, None)
        run.artifact(result.folder / "manifest.json")
    if json_:
        emit(
            {
                "folder": str(result.folder),
                "metrics": result.metrics,
                "details": result.details,
                "epochs": epochs,
            }
        )
        return
    table(f"{kind} in {result.folder}", ["dev", "value"], [[k, v] for k, v in result.metrics.items()])
    err.print(
        "  ".join(f"{k}: {v:.1f}" if isinstance(v, float) else f"{k}: {v}" for k, v in result.details.items())
    )


class _Bar:
    """One progress bar after another, one for each stage of a training."""

    def __init__(self) -> None:
        self._close: Callable[[], None] = lambda: None
        self._advance: Callable[[int], None] = lambda _: None

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many batches (0: unknown)."""
        self.close()
        manager = progress(name, total or None)
        self._advance = manager.__enter__()

        def close() -> None:
            manager.__exit__(None, None, None)

        self._close = close

    def advance(self, count: int) -> None:
        """Batches done."""
        self._advance(count)

    def close(self) -> None:
        """End the present stage's bar."""
        self._close()
        self._close = lambda: None


@contextmanager
def _stages() -> Iterator[_Bar]:
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.close()
