"""The main job, as `make demo ONCE=1` runs it: real training, a real index, a real endpoint."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cocite.pipeline.members import check
from cocite.pipeline.recommender import Recommender

pytestmark = pytest.mark.integration


def test_the_demo_ends_with_a_recommendation_over_http(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "cocite", "demo", "--once", "--port", str(port), "--sample", "20"]
    environment = os.environ | {"COLUMNS": "160", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "cocite train nnselect" in done.stdout
    assert f"The page: http://127.0.0.1:{port}" in done.stdout
    assert check(tmp_path / "demo" / "model") == ["nnselect", "nnrank", "fusion"]
    # What it left behind answers in process as well, with every stage's score.
    recommender = Recommender.load(tmp_path / "demo" / "model", tmp_path / "demo" / "index")
    query = recommender.query(title="Passage retrieval with dense vectors", abstract="We train a bi-encoder.")
    best = recommender.recommend(query)[0]
    assert list(best.stages) == ["first-stage", "nnrank", "fusion"]
    assert (tmp_path / "demo" / "evaluation" / "global" / "report.json").is_file()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the endpoint still answers"
