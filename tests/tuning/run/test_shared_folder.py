"""A sweep's trials see its folder, or say in a sentence that they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.toy_study import Toy, ToySettings

from cocite.errors import InputError
from cocite_tuning.run.on_ray import ERROR, FINAL, _trainable
from cocite_tuning.run.shared_folder import TOKEN_FILE, SharedFolder, _sees
from cocite_tuning.sweep.sweep import MetricSettings


def test_a_folder_is_seen_where_its_token_is(tmp_path: Path) -> None:
    folder = SharedFolder.marked(tmp_path / "sweep")
    folder.check()
    assert _sees(folder, "node 10.0.0.7") is None
    # The same path on a node that does not share it: another sweep's folder, or none.
    SharedFolder.marked(tmp_path / "sweep")
    sentence = (
        r"sweep: node 10\.0\.0\.7 does not see the sweep's folder \(name one that all nodes share: --to\)$"
    )
    with pytest.raises(InputError, match=sentence):
        folder.check("node 10.0.0.7")
    (tmp_path / "sweep" / TOKEN_FILE).unlink()
    assert isinstance(_sees(folder, "node 10.0.0.7"), InputError)


def test_a_trial_that_does_not_see_the_sweeps_folder_fails_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray import tune

    reported: list[dict[str, Any]] = []
    monkeypatch.setattr(tune, "report", reported.append)
    study = Toy(ToySettings(light=False), Path("corpus"), tmp_path / "shared")
    folder = SharedFolder.marked(tmp_path / "sweep")
    trial = _trainable(study, MetricSettings(name="height"), lambda number: tmp_path / str(number), folder)
    trial({"number": 1, "params": {"x": 1.0}})
    assert reported[-1][FINAL]
    assert ERROR not in reported[-1]
    (folder.path / TOKEN_FILE).unlink()
    trial({"number": 2, "params": {"x": 1.0}})
    assert reported[-1][FINAL]
    assert "a trial's node does not see the sweep's folder" in reported[-1][ERROR]
    assert not (tmp_path / "2").exists()


@pytest.mark.integration
def test_nodes_that_share_no_folder_are_named_before_anything_starts(tmp_path: Path) -> None:
    import ray
    from ray.cluster_utils import Cluster

    from cocite_tuning.run.shared_folder import check_nodes

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        ray.init(cluster.address, log_to_driver=False)
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        folder = SharedFolder.marked(tmp_path)
        check_nodes(folder)
        (tmp_path / TOKEN_FILE).unlink()
        with pytest.raises(InputError, match=r"node [\d.]+ does not see the sweep's folder"):
            check_nodes(folder)
    finally:
        ray.shutdown()
        cluster.shutdown()
