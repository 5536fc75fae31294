"""Rollouts of a real endpoint under load: a sound model is served, and each kind of a broken one is not."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from helpers.endpoint import free_port, serving
from helpers.tiny_bert import tiny_bert

from benchmarks._releases import changed, nan, publish_without, random, same
from benchmarks._waiting_clients import WaitingClients, newest_reranker
from cocite.corpus.starter import build_starter
from cocite.pipeline import components
from cocite.pipeline.golden_queries import make_golden_queries
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.text.pair_tokenizer import PairSettings
from cocite_mlflow.registration import register_model

pytestmark = pytest.mark.integration

CONTEXT = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
CLIENTS = 4
PAUSE_S = 0.4
"""Of a client after each answer: the machine loads and tries a release beside them."""
WAIT_S = 600
LAYERS = 200
"""Of the slow model, which does as the first one: its further layers add nothing."""
SETTINGS = {
    "gateway.replicas": 2,
    "request_timeout_s": 30,
    "rollout.canary_share": 0.5,
    "rollout.canary_s": 45,  # a stage has to be stopped within it, on a busy machine too
    "rollout.timeout_s": 8,
    "rollout.latency_floor_s": 0.1,
}


def first_model(folder: Path) -> Path:
    bert = tiny_bert(folder / "bert", ["translation", "quality", "words"], seed=1)
    pairs = PairSettings(query_tokens=24, candidate_tokens=24, context_tokens=16)
    CrossEncoder.from_pretrained(bert, pairs).save(folder / "v1" / "cross-encoder")
    return folder / "v1"


def nudged(name: str, value: torch.Tensor) -> torch.Tensor:
    return value * 1.001


def test_broken_releases_are_not_served_and_no_request_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)  # MLflow keeps artifacts here
    corpus = build_starter(tmp_path / "corpus")
    index, log = tmp_path / "index", tmp_path / "log.txt"
    IndexSnapshot.create(corpus, index)
    first = first_model(tmp_path)
    make_golden_queries(first, index)
    sound = changed(first, tmp_path / "sound", nudged)
    hanging = changed(first, tmp_path / "hanging", lambda name, value: value * 1.002)
    broken = {
        "nan": changed(first, tmp_path / "nan", nan),
        "random": changed(first, tmp_path / "random", random),
        "slow": changed(first, tmp_path / "slow", same, LAYERS),
    }

    def register(model: Path) -> None:
        register_model(model, "ranker", "champion")

    register(first)
    metrics_port = free_port()
    options = ["--watch", "0.5", "--metrics-port", str(metrics_port), "--log-dir", str(tmp_path / "logs")]
    options += [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    with serving(Path("models:/ranker@champion"), index, log, *options) as running:

        def version() -> dict[str, Any]:
            found: dict[str, Any] = httpx.get(f"{running.url}/v1/version", timeout=60).json()
            return found

        def until(true: Callable[[], bool]) -> None:
            deadline = time.monotonic() + WAIT_S
            while not true():
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)

        def refusal(number: int) -> str:
            """Why a version of the model is refused, once the gateways tell of it."""

            whys: list[str] = []

            def told() -> bool:
                whys.extend(one["why"] for one in version()["refused"] if f"version {number} " in one["what"])
                return bool(whys)

            until(told)
            return whys[0]

        asked = {"context": CONTEXT, "top_k": 5, "depth": 50, "rerank": 10}
        with WaitingClients(running.url, [asked], CLIENTS, PAUSE_S).asking() as load:
            register(sound)
            until(lambda: version()["registered"]["version"] == 2)

            register(broken["nan"])
            until(lambda: "version 3" in log.read_text())
            assert "not finite" in refusal(3)

            register(broken["random"])
            until(lambda: "version 4" in log.read_text())
            assert "golden queries expect" in refusal(4)

            register(broken["slow"])
            until(lambda: "version 5" in log.read_text())
            assert "a golden query" in refusal(5) or "golden-" in refusal(5)

            # It answers golden queries, and hangs once it answers clients.
            register(hanging)
            until(lambda: load.by(components.version(hanging)) > 0)
            stopped = newest_reranker(running.process.pid)
            stopped.send_signal(signal.SIGSTOP)
            until(lambda: "version 6" in log.read_text())
            assert "in the canary" in refusal(6)
            answered = load.by(components.version(hanging))

            publish_without(index, corpus.papers.take("id", [0])[0], damaged=True)
            # With the newest model, and with the served one.
            until(lambda: log.read_text().count("damaged: its SHA-256") == 2)
            until(lambda: sum("damaged" in refused["why"] for refused in version()["refused"]) == 2)
            time.sleep(2)  # some looks more, which say nothing
            for outcome, count in {"served": 1, "refused": 5, "rolled_back": 1}.items():
                line = re.compile(rf'ray_cocite_rollouts_total{{[^}}]*outcome="{outcome}"[^}}]*}} {count}\.0')
                until(lambda line=line: line.search(metrics(metrics_port)) is not None)  # type: ignore[misc]
            left = re.compile(r"ray_cocite_refused_releases{[^}]*} 3\.0")
            until(lambda: left.search(metrics(metrics_port)) is not None)
        if stopped.is_running():
            stopped.kill()
        assert [answer for answer in load.answers if answer.status != 200] == []
        served = {name: load.by(components.version(model)) for name, model in broken.items()}
        assert served == dict.fromkeys(broken, 0)
        assert load.by(components.version(hanging)) == answered, "none after it was rolled back"
        assert {answer.index for answer in load.answers} == {"000001"}
        assert (version()["registered"]["version"], version()["index_version"]) == (2, "000001")
        lines = [line for line in log.read_text().splitlines() if "is not served" in line]
        assert len(lines) == 6, lines
        kept = [json.loads(line) for line in (tmp_path / "logs" / "endpoint-0.jsonl").open()]
        outcomes = [line["outcome"] for line in kept if "outcome" in line]
        assert outcomes == ["served", "refused", "refused", "refused", "rolled_back", "refused", "refused"]
        # The console wraps a line; the log has it as it was told.
        told = [line for line in kept if "is not served" in line["message"]]
        assert [line["release"] in line["message"] and line["why"] in line["message"] for line in told] == [
            True
        ] * 6


def metrics(port: int) -> str:
    return httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=60).text
