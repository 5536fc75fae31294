from __future__ import annotations

import pytest

from cocite.errors import InputError
from cocite_jobs.cli.submission import submission, submission_parameters


def test_options_are_gathered_in_rays_units() -> None:
    chosen = submission(driver_memory=1.5, env=["A=b"], resource=["disk=2"], image="uri", driver_cpus=2)
    assert (chosen.memory, chosen.cpus) == (1610612736, 2)
    assert (chosen.environment, chosen.resources) == ({"A": "b"}, {"disk": 2.0})
    assert chosen.installed  # an image has cocite
    assert "'b'" not in repr(chosen)


def test_names_and_combinations_that_ray_would_refuse_later_are_refused() -> None:
    with pytest.raises(InputError, match="'a b' is no name of a job"):
        submission(job_name="a b")
    with pytest.raises(InputError, match="an image has its packages"):
        submission(pip=["s3fs"], image="uri")


def test_each_parser_gets_parameters_of_its_own() -> None:
    assert {param.name for param in submission_parameters()} >= {"address", "job_name", "driver_cpus"}
    assert submission_parameters()[0] is not submission_parameters()[0]
