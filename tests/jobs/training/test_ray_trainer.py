"""Ray Train's trainer starts the processes that a training needs, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.bag_runs import train_bag

from cocite.corpus.store import Corpus
from cocite_jobs.training.ray_trainer import UNUSED, trainer
from cocite_jobs.training.torch_workers import group_config

NEEDED = {"EventBuffer", "RayTrainWorker", "SynchronizationActor", "TrainController"}
"""Actors of a training."""


def test_ray_train_has_the_callbacks_that_are_left_out(tmp_path: Path) -> None:
    from ray.train import FailureConfig, ScalingConfig

    made = trainer(
        print,
        {},
        group=group_config(use_gpu=False, timeout=30),
        scaling=ScalingConfig(num_workers=1),
        failures=FailureConfig(),
        environment={},
        scratch=tmp_path,
        grows=False,
    )
    own = {type(callback).__name__ for callback in made._create_default_callbacks()}
    theirs = {type(callback).__name__ for callback in super(type(made), made)._create_default_callbacks()}
    assert theirs - own == set(UNUSED)


@pytest.mark.integration
@pytest.mark.usefixtures("bag_kind", "ray_here")
def test_a_training_on_this_machine_alone_starts_no_process_that_looks_for_machines(
    corpus: Corpus, tmp_path: Path
) -> None:
    from ray._private.state import actors

    train_bag(corpus, tmp_path, "workers.count=1")
    assert {actor["ActorClassName"] for actor in actors().values()} == NEEDED
