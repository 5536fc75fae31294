"""A real endpoint that follows an alias in MLflow and the current snapshot of its index, under constant requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.endpoint import serving
from helpers.tiny_bert import tiny_bert

from cocite.artifacts import publish
from cocite.corpus.starter import build_starter
from cocite.pipeline import components
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite.text.pair_tokenizer import PairSettings
from cocite_mlflow.registration import register_model
from cocite_mlflow.runs import MlflowRun

pytestmark = pytest.mark.integration

CONTEXT = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
WAIT_S = 600
PAUSE_S = 0.05
"""Between two requests of one client: some are always under way, and the machine has time for other things too."""
OPTIONS = ("--on", "process", "--watch", "1", "--set", "request_timeout_s=30", "--set", "rollout.canary_s=1")
"""``test_rollouts.py`` has the same on Ray Serve, with models that are broken in other ways."""


def cross_encoder(folder: Path, seed: int) -> Path:
    """A model folder with a cross-encoder of random weights: it needs no vectors in the index."""
    bert = tiny_bert(folder.with_name(f"bert-{seed}"), ["translation", "quality", "words"], seed=seed)
    pairs = PairSettings(query_tokens=24, candidate_tokens=24, context_tokens=16)
    CrossEncoder.from_pretrained(bert, pairs).save(folder / "cross-encoder")
    return folder


def sentence(folder: Path, bert: Path) -> Path:
    """A model folder with a sentence encoder: it needs its vectors in the index."""
    save_sentence_encoder(folder / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=32), {})
    return folder


class Asking:
    """A client that asks one thing again and again, from two threads, and keeps what it is told."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: list[tuple[int, Any]] = []
        self.ended = threading.Event()

    @contextmanager
    def going_on(self) -> Iterator[Asking]:
        threads = [threading.Thread(target=self._ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()

    def _ask(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as client:
            while not self.ended.wait(PAUSE_S):
                request = {"context": CONTEXT, "top_k": 5, "depth": 20, "rerank": 5}
                status, body = 0, None
                try:
                    answer = client.post("/v1/recommend", json=request)
                    status, body = answer.status_code, answer.text
                    body = answer.json()
                except (httpx.TransportError, ValueError) as error:
                    body = body or repr(error)
                self.answers.append((status, body))

    def failures(self) -> list[Any]:
        return [answer for answer in self.answers if answer[0] != 200 or not isinstance(answer[1], dict)]


def until(true: Callable[[], bool], log: Path) -> None:
    """Wait for something that the endpoint is to do."""
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def test_the_champion_is_served_and_the_next_one_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)  # MLflow keeps artifacts here
    corpus = build_starter(tmp_path / "corpus")
    index = tmp_path / "index"
    IndexSnapshot.create(corpus, index)
    models = [cross_encoder(tmp_path / f"v{seed}", seed) for seed in (1, 2)]
    models.append(sentence(tmp_path / "v3", tmp_path / "bert-1"))
    models.append(tmp_path / "v4")
    with publish(models[3] / "cross-encoder", kind="cross-encoder", meta={}) as folder:
        (folder / "pairs.json").write_text("{}")

    def register(model: Path) -> int:
        return register_model(model, "ranker", "champion")

    assert register(models[0]) == 1
    log = tmp_path / "log.txt"
    with serving(Path("models:/ranker@champion"), index, log, *OPTIONS) as running:

        def health() -> dict[str, Any]:
            found: dict[str, Any] = httpx.get(f"{running.url}/v1/health", timeout=60).json()
            return found

        def served() -> tuple[int, str]:
            """The registered version and the snapshot."""
            version = httpx.get(f"{running.url}/v1/version", timeout=60).json()
            return version["registered"]["version"], version["index_version"]

        def scores() -> dict[str, float]:
            asked = {"context": CONTEXT, "top_k": 5, "depth": 20, "rerank": 5}
            papers = httpx.post(f"{running.url}/v1/recommend", json=asked, timeout=60).json()["papers"]
            return {paper["id"]: paper["score"] for paper in papers}

        def expected(model: Path) -> dict[str, float]:
            library = Recommender.load(model, index)
            found = library.recommend(library.query(context=CONTEXT), Options(top_k=5, depth=20, rerank=5))
            # On a busy machine one process finds bf16 quicker and the other fp32; two models are further apart.
            return {paper.id: pytest.approx(paper.score, abs=0.1) for paper in found}

        assert health()["registered"] == {"name": "ranker", "version": 1, "alias": "champion"}
        assert scores() == expected(models[0])

        with Asking(running.url).going_on() as asking:
            assert register(models[1]) == 2
            until(lambda: served() == (2, "000001"), log)
            IndexSnapshot.remove(index, [corpus.papers.take("id", [0])[0]])
            until(lambda: served() == (2, "000002"), log)
            # An encoder whose vectors the index lacks; an artifact that is whole, and nothing that a stage can load;
            # files that are not what was registered.
            assert register(models[2]) == 3
            until(lambda: "version 3" in log.read_text(), log)
            assert register(models[3]) == 4
            until(lambda: "version 4" in log.read_text(), log)
            monkeypatch.setattr(MlflowRun, "log_artifact", damaged(MlflowRun.log_artifact))
            assert register(models[0]) == 5
            until(lambda: "version 5" in log.read_text(), log)
            time.sleep(2.5)  # two looks more, which say nothing
        assert served() == (2, "000002")
        assert asking.failures() == []
        by_model = [body["model_version"] for _, body in asking.answers]
        assert set(by_model) == {components.version(model) for model in models[:2]}
        assert scores() == expected(models[1])
        assert scores() != expected(models[0])

        told = [line for line in log.read_text().splitlines() if "warning: " not in line]
        lines = [line for line in told if "served" in line or "Serving" in line]
        assert len(lines) == 6, lines
        assert lines[1] == "Serving ranker version 2 (@champion) over index 000001 now."
        assert lines[2] == "Serving ranker version 2 (@champion) over index 000002 now."
        unfit, hollow, broken = lines[3:]
        assert "the index holds no vectors of sentence (cocite index build CORPUS --to" in unfit
        assert "is not served: /" in hollow
        assert "cross-encoder/config.json: no such file" in hollow
        assert "cross-encoder/config.json: damaged" in broken
        assert all(
            one.endswith("version 2 (@champion) over index 000002 goes on being served.") for one in lines[3:]
        )


def damaged(keep: Callable[..., None]) -> Callable[..., None]:
    """As ``keep``, and then one file of what was kept is changed where it lies."""

    def keep_and_damage(run: MlflowRun, path: str | Path, *, folder: str | None = None) -> None:
        keep(run, path, folder=folder)
        (config,) = Path().rglob(f"{run.id}/artifacts/model/cross-encoder/config.json")
        config.write_text(config.read_text() + " ")

    return keep_and_damage
