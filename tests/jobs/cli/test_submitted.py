from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml

from cocite_jobs.cli.job_arguments import INPUTS, OUTPUTS
from cocite_jobs.cli.submitted import SUBMITTED, Checked, command_of


def leaves(command: Any) -> Iterator[Any]:
    if hasattr(command, "commands"):
        for each in command.commands.values():
            yield from leaves(each)
    else:
        yield command


def test_whatever_names_a_path_is_known_as_read_or_written() -> None:
    found = {
        name
        for entry in SUBMITTED.values()
        if (command := command_of(entry.path)) is not None
        for leaf in leaves(command)
        for name, hint in get_type_hints(inspect.unwrap(leaf.callback)).items()
        if hint in (Path, Path | None) and name != "return"
    }
    assert found - INPUTS - OUTPUTS == set()
    assert {"corpus", "index", "queries", "to", "markdown"} <= found


def test_a_recipe_and_a_sweep_say_who_does_the_work(tmp_path: Path) -> None:
    training, sweep = SUBMITTED["train"].check, SUBMITTED["tune"].check
    assert training is not None
    assert sweep is not None
    values = {"recipe": "nnselect", "overrides": None, "on": None}
    assert training(values) == Checked(None, "nnselect")
    hatten = training(values | {"recipe": "hatten"})
    assert (hatten.has_workers, hatten.accelerator) == (True, "workers.accelerator")
    here = training(values | {"recipe": "hatten", "on": "process", "overrides": ["workers.gpus=.5"]})
    assert (here.has_workers, here.accelerator, here.gpus, hatten.gpus) == (False, "", 0.5, 0)
    (tmp_path / "ours.yaml").write_text(yaml.safe_dump({"kind": "nnselect"}))
    own = training(values | {"recipe": str(tmp_path / "ours.yaml")})
    assert own == Checked(tmp_path / "ours.yaml", "ours.yaml")
    bm25 = sweep({"sweep": "bm25", "overrides": ["budget.trials=2"], "to": "/sweeps/bm25"})
    assert bm25 == Checked(None, "bm25")


def test_a_command_that_is_not_there_is_none() -> None:
    assert command_of(("nothing",)) is None
    assert command_of(("corpus", "nothing")) is None


@pytest.mark.parametrize("name", ["import", "index", "rank", "evaluate", "train", "tune"])
def test_every_command_is_there(name: str) -> None:
    assert command_of(SUBMITTED[name].path) is not None
