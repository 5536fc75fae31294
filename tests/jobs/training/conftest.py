"""What tests of trainings share: the kind ``bag``, a small corpus, and an undisturbed training to compare with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import bag_recipe
from helpers.bag_runs import STEPS, TESTS, train_bag, weights_of
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite_jobs.cluster.connection import ray_connection


@pytest.fixture(scope="module")
def bag_kind() -> Iterator[None]:
    """Makes ``bag`` a kind of recipe, for the tests of one module."""
    bag_recipe.register()
    yield
    bag_recipe.KINDS.pop("bag")


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """One Ray for the tests that do not end it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])))
        with ray_connection("local"):
            yield


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    """60 papers. Do not write into its folder."""
    return synthetic(60, seed=11)


@pytest.fixture(scope="module")
def reference(
    bag_kind: None, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[int, float], Any]:
    """Losses and weights of an uninterrupted training in this process."""
    folder = tmp_path_factory.mktemp("reference")
    _, losses = train_bag(corpus, folder, on="process")
    assert sorted(losses) == list(range(1, STEPS + 1))
    assert losses[STEPS] < losses[1] / 3
    return losses, weights_of(folder)
