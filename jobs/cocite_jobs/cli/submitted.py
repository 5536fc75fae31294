"""The commands that can be submitted as jobs, and what is checked of each before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Checked:
    """What a check of a command knows of it.

    Attributes:
        file: the recipe or sweep that travels; None: the command names one that comes with cocite.
        name: of the recipe or sweep on the cluster.
        has_workers: other processes of the cluster do the work.
        accelerator: the setting that names the accelerator of those.
        gpus: that the command computes on itself.

    Example:
        >>> Checked(None, "nnselect").has_workers
        False
    """

    file: Path | None
    name: str
    has_workers: bool = False
    accelerator: str = ""
    gpus: float = 0


@dataclass(frozen=True)
class Submitted:
    """A command that can be submitted.

    Attributes:
        path: its words after ``cocite``.
        subject: the parameter that names what the command works on.
        needed: parameters that the command has a default for, which means nothing on a cluster.
        on_ray: its work is done by tasks of Ray unless ``--on`` says otherwise.
        if_counted: tasks of Ray do its work only where ``--workers`` says how many.
        check: refuses more than the command's parser does, and says what the parser cannot know.

    Example:
        >>> Submitted(("index", "build"), "corpus").kind
        'index build'
    """

    path: tuple[str, ...]
    subject: str
    needed: tuple[str, ...] = ()
    on_ray: bool = False
    if_counted: bool = False
    check: Callable[[Mapping[str, Any]], Checked] | None = None

    @property
    def kind(self) -> str:
        """Kept in the job's metadata."""
        return " ".join(self.path)


def _check_training(values: Mapping[str, Any]) -> Checked:
    """Load the recipe with its overrides."""
    from cocite_jobs.cluster.resources import check_batch, worker_range
    from cocite_jobs.training.recipes import load_recipe, recipe_path
    from cocite_jobs.training.registry import KINDS

    name = str(values["recipe"])
    recipe: Any = load_recipe(name, [str(text) for text in values["overrides"] or ()])
    file = recipe_path(name)
    shipped = name == file.stem and not Path(name).suffix
    neural = KINDS[recipe.kind].uses_engine
    has_workers = neural and recipe.workers.count != 0 and values["on"] != "process"
    if has_workers:
        check_batch(recipe, worker_range(recipe.workers)[1])
    return Checked(
        None if shipped else file,
        name if shipped else file.name,
        has_workers,
        "workers.accelerator" if has_workers else "",
        (recipe.workers.gpus or 0) if neural and not has_workers else 0,
    )


def _check_sweep(values: Mapping[str, Any]) -> Checked:
    """Let ``cocite tune run --check`` refuse a sweep: this package cannot import that one's."""
    import json
    from contextlib import redirect_stdout
    from io import StringIO

    from cocite.cli import root

    name, to = str(values["sweep"]), str(values["to"] or "")
    overrides = [str(text) for text in values["overrides"] or ()]
    with redirect_stdout(StringIO()) as printed:
        arguments = ["tune", "run", name, *overrides, "--to", to, "--check", "--json"]
        root.main(args=arguments, standalone_mode=False)
    trains = json.loads(printed.getvalue())["sweep"]["study"]["kind"] == "training"
    file = Path(name) if Path(name).is_file() else None
    return Checked(file, file.name if file else name, trains, "study.set.workers.accelerator" * trains)


SUBMITTED: dict[str, Submitted] = {
    "import": Submitted(("corpus", "import"), "source", on_ray=True),
    "embed": Submitted(("embed",), "corpus", on_ray=True),
    "index": Submitted(("index", "build"), "corpus"),
    "rank": Submitted(("rank",), "queries", if_counted=True),
    "evaluate": Submitted(("evaluate",), "corpus", if_counted=True),
    "train": Submitted(("train",), "recipe", ("corpus", "to"), check=_check_training),
    "tune": Submitted(("tune", "run"), "sweep", ("corpus", "to"), check=_check_sweep),
}
"""Name after ``cocite job submit`` -> the command."""


def command_of(path: Sequence[str]) -> Any:
    """The command of some words after ``cocite``; None: there is none."""
    import click

    from cocite.cli import root

    command: Any = root.get_command(click.Context(root), path[0])
    for word in path[1:]:
        command = command.commands.get(word)
    return command
