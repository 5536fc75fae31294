from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from pathlib import Path

import pytest
from helpers.bag_recipe import BagRecipe, Task
from helpers.bag_runs import long_recipe

from cocite.corpus.store import Corpus
from cocite.errors import ConfigError
from cocite_jobs.training.recipes import load_recipe, shipped_recipes
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.types import TrainingJob


def job_of(recipe: BagRecipe) -> TrainingJob:
    data = recipe.model_dump(mode="json")
    return TrainingJob("helpers.bag_recipe:BagRecipe", "helpers.bag_recipe:build", data, "c", "m", "f")


def test_a_job_is_plain_values() -> None:
    job = job_of(long_recipe("workers.count=2"))
    assert TrainingJob(**json.loads(json.dumps(asdict(job)))) == job
    assert pickle.loads(pickle.dumps(job)) == job  # noqa: S301 - our own


def test_a_job_builds_its_recipe_and_its_task(corpus: Corpus) -> None:
    recipe = long_recipe("examples=12")
    job = job_of(recipe)
    assert job.parse_recipe() == recipe
    task = job.build_task(recipe, corpus, Path("model"))
    assert isinstance(task, Task)
    assert len(task.texts) == 12


def test_a_job_of_an_unknown_setting_is_refused() -> None:
    job = job_of(long_recipe())
    job.recipe["exmples"] = 3
    with pytest.raises(ConfigError, match="unknown key 'exmples'"):
        job.parse_recipe()


@pytest.mark.parametrize(
    "name", [name for name in shipped_recipes() if KINDS[str(load_recipe(name).kind)].uses_engine]
)
def test_every_shipped_recipe_survives_the_way_to_a_worker(name: str) -> None:
    recipe = load_recipe(name)
    row = KINDS[str(recipe.kind)]  # type: ignore[attr-defined]
    data = json.loads(json.dumps(recipe.model_dump(mode="json")))
    assert TrainingJob(row.recipe, row.task or "", data, "corpus", "model", "f").parse_recipe() == recipe
