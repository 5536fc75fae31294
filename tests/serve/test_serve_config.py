"""The applications of a Serve config, without Ray Serve; with it: tests/integration/test_serve_config.py."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.event_loops import running_loop
from helpers.served_cross_encoder import cross_encoder_folder
from ray import serve

from benchmarks._releases import changed, random
from cocite.corpus.starter import build_starter
from cocite.errors import CociteError, ConfigError, InputError
from cocite.pipeline.golden_queries import make_golden_queries
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import VersionedFolder
from cocite_serve import serve_config
from cocite_serve.one_process.handles import LocalHandle, from_threads
from cocite_serve.release import Release
from cocite_serve.replicas.directions import Directions
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.rollouts.asked_stages import AskedStages
from cocite_serve.rollouts.errors import RolloutError
from cocite_serve.serve_config import beside_stages, gateways, stages


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("config")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the operator's log is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "cocite" / "logs"


def kept(logs: Path) -> list[dict[str, Any]]:
    """The lines of the operator's log."""
    return [json.loads(line) for line in (logs / "endpoint-0.jsonl").read_text().splitlines()]


def say(monkeypatch: pytest.MonkeyPatch, *rounds: dict[str, str]) -> list[float]:
    """Let Ray Serve tell the statuses of applications, others each time; returns the seconds that were waited."""
    waited: list[float] = []
    left = list(rounds)

    def status() -> Any:
        now = left.pop(0) if len(left) > 1 else left[0]
        apps = {name: SimpleNamespace(status=SimpleNamespace(value=value)) for name, value in now.items()}
        return SimpleNamespace(applications=apps)

    monkeypatch.setattr(serve, "status", status)
    monkeypatch.setattr("cocite_serve.serve_config.time.sleep", waited.append)
    return waited


def test_the_stages_are_those_of_the_newest_release_and_hold_no_lock(index: Path) -> None:
    application = stages({"index": str(index), "retriever": {"replicas": 2}})
    release = application._bound_deployment.init_args[0]
    assert (release.index, release.index_version, release.model) == (index, "000001", None)
    IndexSnapshot.remove(index, ["devlin2019bert"])
    assert VersionedFolder(index).delete_old(keep=1) == ["000001"]


def test_an_index_that_is_not_there_is_told(tmp_path: Path, logs: Path) -> None:
    with pytest.raises(InputError, match="index"):
        stages({"index": str(tmp_path / "nowhere")})
    [line] = kept(logs)
    assert (line["outcome"], line["release"]) == ("refused", f"no model over {tmp_path / 'nowhere'}")
    assert line["level"] == "WARNING"


def test_a_model_without_golden_queries_is_named_in_the_log(
    index: Path, tmp_path: Path, logs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stages({"index": str(index), "model": str(cross_encoder_folder(tmp_path))})
    assert "keeps no golden queries of its own" in caplog.text
    [line] = kept(logs)
    assert "keeps no golden queries of its own" in line["message"]


def test_the_gateways_wait_for_the_stages(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proven: list[Any] = []
    monkeypatch.setattr(serve_config, "_prove", lambda app, *_: proven.append(app) or "index 000001")
    waited = say(
        monkeypatch,
        {},
        {"cocite": "DEPLOYING", "cocite-stages-1": "DEPLOYING"},
        {"cocite-stages-1": "RUNNING"},
    )
    application = gateways({"index": str(index)})
    assert len(waited) == 2
    assert application._bound_deployment.name == "Gateway"
    assert proven == ["cocite-stages-1"]


@pytest.mark.parametrize("sound", [True, False])
def test_only_stages_whose_answers_are_sound_get_gateways(
    sound: bool, tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), index)
    model = cross_encoder_folder(tmp_path)
    make_golden_queries(model, index, 4)
    if not sound:
        model = changed(model, tmp_path / "random", random)
    release = Release(model, index, "000001")
    args = {"index": str(index), "model": str(model), "request_timeout_s": 60}
    say(monkeypatch, {"cocite-stages-1": "RUNNING"})
    with running_loop() as loop:
        retriever: Any = LocalHandle(Retriever(release), from_threads(loop))
        reranker = LocalHandle(Reranker(release, retriever), from_threads(loop))
        monkeypatch.setattr(serve, "get_app_handle", {"cocite-stages-1": reranker}.__getitem__)
        if sound:
            assert gateways(args)._bound_deployment.name == "Gateway"
        else:
            with pytest.raises(RolloutError, match="the scores of cross-encoder .* have a correlation of"):
                gateways(args)
    [line] = [line for line in kept(logs) if "outcome" in line]
    if sound:
        assert (line["outcome"], line["release"]) == ("served", str(release))
    else:
        assert (line["outcome"], line["release"]) == ("refused", f"{model} over {index}")
        assert "the scores of cross-encoder" in line["why"]


def test_stages_that_failed_are_not_waited_for(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, {"cocite-stages-1": "DEPLOY_FAILED"})
    with pytest.raises(CociteError, match="the stages cannot be loaded"):
        gateways({"index": str(index)})


def test_the_wait_has_an_end(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, {"another": "RUNNING"})
    with pytest.raises(CociteError, match=r"not loaded within 0\.01 s \(does the config have an application"):
        gateways({"index": str(index), "watch": {"start_s": 0.01}})


@pytest.fixture(scope="module")
def newer(index: Path) -> dict[str, Any]:
    """Settings whose second release is another index."""
    other = index.parent / "other"
    IndexSnapshot.create(build_starter(index.parent / "again"), other)
    return {"index": str(index), "beside": {"index": str(other), "traffic": "shadow"}}


def test_the_second_releases_stages_are_those_of_the_other_index(newer: dict[str, Any]) -> None:
    release = beside_stages(newer)._bound_deployment.init_args[0]
    assert (str(release.index), release.index_version) == (newer["beside"]["index"], "000001")
    assert str(stages(newer)._bound_deployment.init_args[0].index) == newer["index"]


def test_a_second_release_has_to_be_named(index: Path) -> None:
    with pytest.raises(
        ConfigError, match="^args: no second release is named: give beside.model or beside.index"
    ):
        beside_stages({"index": str(index)})


def test_the_gateways_know_a_second_release_that_answers(
    newer: dict[str, Any], logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven: list[Any] = []
    monkeypatch.setattr(
        serve_config, "_prove", lambda app, served, _: proven.append((app, served)) or f"what {app} has"
    )
    monkeypatch.setattr(AskedStages, "open", lambda app, _: f"asked {app}")
    waited = say(
        monkeypatch,
        {"cocite-stages-1": "RUNNING", "cocite-beside-1": "DEPLOYING"},
        {"cocite-stages-1": "RUNNING", "cocite-beside-1": "DEPLOYING"},
        {"cocite-stages-1": "RUNNING", "cocite-beside-1": "DEPLOYING"},
        {"cocite-stages-1": "RUNNING", "cocite-beside-1": "RUNNING"},
    )
    first = gateways(newer)._bound_deployment.init_args[1]
    assert first == Directions("cocite-stages-1", beside="cocite-beside-1")
    assert waited
    assert proven == [("cocite-stages-1", None), ("cocite-beside-1", "asked cocite-stages-1")]
    assert [(line["outcome"], line["release"], line["level"]) for line in kept(logs)] == [
        ("beside", "what cocite-beside-1 has", "INFO"),
        ("served", "what cocite-stages-1 has", "INFO"),
    ]


@pytest.mark.parametrize("status", ["DEPLOY_FAILED", "RUNNING"])
def test_a_second_release_that_fails_is_left_out(
    status: str,
    newer: dict[str, Any],
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def prove(app: str, *_: Any) -> str:
        if app == "cocite-beside-1":
            raise RolloutError("its scores are no numbers")
        return f"what {app} has"

    monkeypatch.setattr(serve_config, "_prove", prove)
    monkeypatch.setattr(AskedStages, "open", lambda app, _: f"asked {app}")
    say(monkeypatch, {"cocite-stages-1": "RUNNING", "cocite-beside-1": status})
    assert gateways(newer)._bound_deployment.init_args[1] == Directions("cocite-stages-1")
    why = "its scores are no numbers" if status == "RUNNING" else "the stages cannot be loaded"
    other = newer["beside"]["index"]
    assert f"no model over {other} is not loaded beside the served release: {why}" in caplog.text
    assert [(line["outcome"], line["release"]) for line in kept(logs)] == [
        ("refused_beside", f"no model over {other}"),
        ("served", "what cocite-stages-1 has"),
    ]
    assert kept(logs)[0]["why"].startswith(why)
