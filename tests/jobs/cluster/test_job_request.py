from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.tiny_wheel import write_wheel

from cocite.errors import InputError
from cocite_jobs.cluster.driver_resources import DriverResources
from cocite_jobs.cluster.job_request import (
    JobRequest,
    mask_values,
    parse_amounts,
    parse_pairs,
    parse_requirements,
)


def test_an_environment_has_packages_or_an_image_and_the_users_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    request = JobRequest(["rank"], "rank", "q", environment={"A": "b", "HF_HUB_OFFLINE": "0"}, pip=["s3fs"])
    runtime = request.runtime_environment(Path("/folder"))
    assert (runtime["pip"], runtime["working_dir"]) == (["s3fs"], "/folder")
    assert runtime["env_vars"] | {"A": "b", "HF_HUB_OFFLINE": "0"} == runtime["env_vars"]
    # Ray's three seconds are too few to write a checkpoint in.
    assert int(runtime["env_vars"]["RAY_JOB_STOP_WAIT_TIME_S"]) >= 60
    assert JobRequest(["rank"], "rank", "q", image="i").runtime_environment(None)["image_uri"] == "i"


def test_a_command_sees_no_gpu_unless_it_reserves_one_or_the_user_says_which() -> None:
    command = JobRequest(["rank"], "rank", "q")
    assert command.entrypoint == "CUDA_VISIBLE_DEVICES= python -m cocite rank"
    assert (
        "CUDA_VISIBLE_DEVICES" not in command.runtime_environment(None)["env_vars"]
    )  # workers would see none
    reserves = replace(command, driver=DriverResources(gpus=0.5))
    named = replace(command, environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert reserves.entrypoint == named.entrypoint == "python -m cocite rank"


def test_errors_of_options_do_not_repeat_values() -> None:
    with pytest.raises(InputError, match=r"^--env: 's3cret key' is not of the form") as raised:
        parse_pairs(["s3cret key=x1y2"], "--env")
    assert "x1y2" not in str(raised.value)
    with pytest.raises(InputError, match=r"'A' is given twice"):
        parse_pairs(["A=1", "A=2"], "--env")
    for amount in ("0", "-1", "nan", "much", "1e10"):
        with pytest.raises(InputError, match=r"disk: '.*' is no amount above 0"):
            parse_amounts([f"disk={amount}"], "--resource")


def test_longer_values_are_masked_first_and_other_variables_are_not() -> None:
    runtime = {"env_vars": {"A": "key", "B": "keyring", "C": "a"}}
    assert mask_values("a keyring and a key", {"cocite.secrets": "A,B"}, runtime) == "a *** and a ***"
    assert mask_values("text", {}, {}) == "text"


def test_a_file_of_requirements_is_read_without_its_comments(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("# ours\nmoto==5  # a server\n\ns3fs\n")
    assert parse_requirements([str(tmp_path / "r.txt"), "x"]) == ["moto==5", "s3fs", "x"]
    with pytest.raises(InputError, match=r"--pip: no file './none.txt'"):
        parse_requirements(["./none.txt"])
    with pytest.raises(
        InputError, match=r"--pip: '.*\.whl' is no file of requirements \(write the URI of a wheel"
    ):
        parse_requirements([str(write_wheel(tmp_path, "good morning"))])
