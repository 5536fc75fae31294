"""A sweep's trials see its folder, or say in a sentence that they do not."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.toy_study import Toy, ToySettings
from ray.util import scheduling_strategies as strategies

from cocite.errors import InputError
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.shared_folder import TOKEN_FILE, SharedFolder
from cocite_tuning.run.node_check import check_nodes
from cocite_tuning.run.on_ray import ERROR, FINAL, _trainable
from cocite_tuning.sweep.sweep import MetricSettings

WHAT = "the sweep's folder"


def test_a_trial_that_does_not_see_the_sweeps_folder_fails_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray import tune

    reported: list[dict[str, Any]] = []
    monkeypatch.setattr(tune, "report", reported.append)
    study = Toy(ToySettings(light=False), Path("corpus"), tmp_path / "shared")
    folder = SharedFolder.marked(Location.of(tmp_path) / "sweep", WHAT)
    trial = _trainable(study, MetricSettings(name="height"), lambda number: tmp_path / str(number), folder)
    trial({"number": 1, "params": {"x": 1.0}})
    assert reported[-1][FINAL]
    assert ERROR not in reported[-1]
    folder.place.remove(TOKEN_FILE)
    trial({"number": 2, "params": {"x": 1.0}})
    assert reported[-1][FINAL]
    assert "a trial's node does not see the sweep's folder" in reported[-1][ERROR]
    assert not (tmp_path / "2").exists()


class Cluster:
    """The parts of Ray that are asked, of a cluster: what runs on a blind node does not see the folder."""

    def __init__(self, folder: Path, blind: str) -> None:
        self.folder, self.blind, self.asked = folder, blind, list[str]()

    def nodes(self) -> list[dict[str, Any]]:
        names = ("here", "near", "far", "gone")
        return [{"NodeID": n, "NodeManagerAddress": f"{n}.net", "Alive": n != "gone"} for n in names]

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: "here")

    def remote(self, **_: Any) -> Any:
        return lambda function: SimpleNamespace(options=lambda **where: self._on(function, where))

    def get(self, answer: Any) -> Any:
        return answer

    def _on(self, function: Any, where: dict[str, Any]) -> Any:
        node = where["scheduling_strategy"].node_id
        self.asked.append(node)

        def call(folder: SharedFolder, who: str) -> Any:
            return function(
                SharedFolder(folder.place / "none", folder.token, WHAT) if node == self.blind else folder, who
            )

        return SimpleNamespace(remote=call)


@pytest.mark.parametrize("blind", ["", "far"])
def test_a_node_that_does_not_share_the_folder_is_named_before_anything_starts(
    blind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    cluster = Cluster(tmp_path, blind)
    for name in ("nodes", "get_runtime_context", "remote", "get"):
        monkeypatch.setattr(ray, name, getattr(cluster, name))
    monkeypatch.setattr(strategies, "NodeAffinitySchedulingStrategy", Affinity)
    refusal = pytest.raises(InputError, match=r"node far\.net does not see the sweep's folder")
    with refusal if blind else nullcontext():
        check_nodes(SharedFolder.marked(Location.of(tmp_path), WHAT))
    assert cluster.asked == ["near", "far"]  # neither this node nor one that is gone


class Affinity:
    """Ray's, which refuses names that are no ids."""

    def __init__(self, node_id: str, *, soft: bool) -> None:
        self.node_id, self.soft = node_id, soft
