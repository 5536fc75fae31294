"""``cocite index build`` here and by workers, who read and write what lies elsewhere themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.progress_stages import record_stages
from helpers.synthetic import SyntheticCorpora

from cocite.cli.index_build import print_version
from cocite.corpus.store import Corpus
from cocite.retrieval.index.opening import open_index


@pytest.fixture(scope="module")
def store(synthetic: SyntheticCorpora) -> Path:
    return synthetic(60, seed=1).path


def test_the_number_of_shards_follows_their_largest_size(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ("index", "build", store, "--to", tmp_path / "index", "--papers-a-shard", "25", "--json")
    code, out, _ = call(capsys, *line)
    assert code == 0
    assert [shard["papers"] for shard in json.loads(out)["shards"]] == [20, 20, 20]
    code, _, said = call(capsys, *line, "--shards", "2")
    assert (code, "--papers-a-shard: is given beside --shards" in " ".join(said.split())) == (2, True)


def test_shards_are_built_here(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ("index", "build", store, "--to", tmp_path / "index", "--shards", "3")
    code, out, err = call(capsys, *line, "--bm25", "text.k1=2")
    assert code == 0, err
    assert "version 000001 is current: 60 papers, " in out
    assert "3 shards, text.k1 2" in " ".join(out.split())
    code, out, err = call(capsys, *line)
    assert (code, "text.k1" in out) == (0, False)
    assert "the version before had --bm25 text.k1=2" in err


@pytest.mark.parametrize("shards", ["1", "3"])
def test_the_bar_says_when_all_texts_are_read(
    shards: str,
    store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stages = record_stages(monkeypatch)
    code, _, err = call(capsys, "index", "build", store, "--to", tmp_path / "index", "--shards", shards)
    assert code == 0, err
    contexts = len(Corpus.open(store).contexts)
    assert stages == [("indexing texts", 2 * 60 + contexts), ("ordering and writing what was read", 0)]


def test_what_workers_are_told(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options reach the step; its parts are made in this process, as other tests start Ray."""
    from cocite_jobs.steps.indexing import build_index as module
    from cocite_jobs.steps.run_parts import Workers

    asked: list[Any] = []

    def here(*options: Any) -> Workers:
        asked.append(Workers(*options))
        return Workers()

    monkeypatch.setattr(module, "Workers", here)
    line = ("index", "build", store, "--to", tmp_path / "index", "--shards", "2", "--known-until", "2015")
    more = ("--on", "ray", "--address", "auto", "--workers", "3", "--cpus", "2", "--wait", "--json")
    more += ("--gpus", "0.5", "--accelerator", "H100")
    code, out, err = call(capsys, *line, *more)
    assert code == 0, err
    assert asked == [Workers("ray", "auto", 3, 2.0, 0.5, "H100", wait=True)]
    facts = json.loads(out)
    assert (facts["index"], facts["version"], facts["known_until"]) == (
        str(tmp_path / "index"),
        "000001",
        2015,
    )
    assert [shard["papers"] for shard in facts["shards"]] == [30, 30]
    assert len(open_index(tmp_path / "index")) == 60


def test_a_version_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    meta = {"alive": 5000, "contexts": 7, "vectors": {"nnselect": "ivf"}, "bm25": {}}
    print_version("000003", meta, "s3://bucket/index", as_json=False, removed=2)
    assert capsys.readouterr().out.splitlines() == [
        "s3://bucket/index: version 000003 is current: 5,000 papers, 7 contexts, vectors: nnselect ivf",
        "removed 2",
    ]
