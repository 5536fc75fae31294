"""The main job, as `make demo ONCE=1` runs it: real training, a real index, a real endpoint."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cocite.corpus.starter.drafts import starter_drafts
from cocite.pipeline import Options, Recommender
from cocite.pipeline.components import active_components, list_components
from cocite.pipeline.confidence import LEAST
from cocite.pipeline.golden_queries import are_missing
from cocite_jobs import demo
from cocite_jobs.starter_drafts import rank_expected

pytestmark = pytest.mark.integration


def test_the_demo_ends_with_a_recommendation_over_http(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "cocite", "demo", "--once", "--port", str(port), "--sample", "20"]
    environment = os.environ | {"COLUMNS": "160", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "cocite train nnselect" in done.stdout
    assert f"The page: http://127.0.0.1:{port}" in done.stdout
    assert list_components(tmp_path / "demo" / "model") == ["nnselect", "nnrank", "fusion", "confidence"]
    assert (tmp_path / "demo" / "evaluation" / "global" / "report.json").is_file()
    assert (tmp_path / "demo" / "evaluation" / "local" / "report.json").is_file()
    assert not are_missing(tmp_path / "demo" / "model")
    assert (
        "$ cocite recommend demo/drafts/translation.tex --index demo/index --model demo/model" in done.stdout
    )
    copies = {path.name: path.read_bytes() for path in (tmp_path / "demo" / "drafts").iterdir()}
    assert copies == {draft.path.name: draft.path.read_bytes() for draft in starter_drafts()}
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the endpoint still answers"

    # What it left behind answers in process as the endpoint does, with every stage's score.
    folders = demo.DemoFolders.under(tmp_path / "demo")
    recommender = Recommender.load(folders.model, folders.index)
    ranks = rank_expected(recommender)
    assert [paper for paper in ranks if paper.rank is None or paper.rank > 3] == []
    assert all(paper.title[:40] in done.stdout for paper in ranks)
    text = {
        "title": "Passage retrieval with dense vectors",
        "abstract": "We train a bi-encoder with hard negatives.",
    }
    alone = recommender.recommend(recommender.query(**text), Options(top_k=15))
    used = [name for name in ("nnrank", "fusion") if name in active_components(tmp_path / "demo" / "model")]
    assert list(alone[0].stages) == ["first-stage", *used]
    assert "fusion" in used
    with demo.endpoint(folders, port) as url:
        served = demo.recommend(url, {**text, "top_k": 15})
        # The page asks with the draft's whole text and the number of the gap.
        by_page = {
            (draft.path.name, gap): demo.recommend(url, {"text": draft.path.read_text(), "gap": gap})
            for draft in starter_drafts()
            for gap in range(len(draft.expected))
        }
        nonsense = demo.recommend(url, {"text": "Qwertz uiop asdf ghjkl [CIT]."})
    assert [paper["id"] for paper in served["papers"]] == [paper.id for paper in alone]
    for other, paper in zip(served["papers"], alone, strict=True):
        assert other["stages"] == pytest.approx(paper.stages, rel=1e-4, abs=1e-5)
    assert served["model_version"] == recommender.model_version
    assert len(by_page) == 15
    for (name, gap), answer in by_page.items():
        expected = next(draft.expected[gap] for draft in starter_drafts() if draft.path.name == name)
        first = [paper["id"] for paper in answer["papers"][:3]]
        assert expected in first, f"{name}, gap {gap + 1}: {first}"
        assert answer["note"] == "", f"{name}, gap {gap + 1}"
        assert all(0 < paper["confidence"] < 1 for paper in answer["papers"])
    assert nonsense["note"] != ""
    assert all((paper["confidence"] or 0) < LEAST for paper in nonsense["papers"])
