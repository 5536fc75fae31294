"""Traces of a running endpoint, as a collector receives them over OTLP, and the replicas' own log lines.

The index has two shards, so that a request goes through every kind of process that there is. The collector is silent at
first: it accepts connections and never answers.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from helpers.endpoint import Running, replica_of, serving
from helpers.served_cross_encoder import cross_encoder_folder
from helpers.span_receiver import Received, Receiver, receiving

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.sharded_index import ShardedIndex

pytestmark = pytest.mark.integration

SHARDS, RERANK = 2, 5
WORDS = "zymurgical quokkas"
"""Of a draft; no attribute of a span and no log line may have them."""
REQUEST = {"context": f"We measure the quality of {WORDS} with BLEU [CIT] on a test set.", "rerank": RERANK}
SILENT = 5
"""Requests while the collector is silent."""
ROUND_S = 20
"""Seconds for which a stopped shard is waited for."""
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = f"00-{TRACE}-{PARENT}-01"
EXPORT_S = 60
"""Seconds for which one batch is tried to be sent."""
WAIT_S = 600
BATCHES = {
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8",
    "OTEL_BSP_SCHEDULE_DELAY": "600000",
    "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": str(EXPORT_S),
}
"""Eight spans are sent as soon as they are there; the rest only when a process ends."""


@dataclass
class Seen:
    """What was answered, and what the collector and the logs know of it when the endpoint has ended."""

    receiver: Receiver
    answers: dict[str, httpx.Response] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    replica_lines: list[dict[str, Any]] = field(default_factory=list)
    request_lines: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept_lines: list[dict[str, Any]] = field(default_factory=list)

    def ask(
        self, running: Running, id_: str, path: str = "recommend", body: object = REQUEST, **headers: str
    ) -> None:
        begin = time.monotonic()
        self.answers[id_] = httpx.post(
            f"{running.url}/v1/{path}", json=body, headers={"X-Request-ID": id_, **headers}, timeout=120
        )
        self.seconds[id_] = time.monotonic() - begin

    def fill_batches(self, running: Running) -> None:
        """Ask until each process has sent spans of a later request: those of all before it have come, too.

        What is left when a process ends it sends for two seconds, which may be too few on a busy machine.
        """
        deadline = time.monotonic() + WAIT_S
        later: list[str] = []
        while not any(self._is_of_each_process(id_) for id_ in later):
            assert time.monotonic() < deadline, self.named(later[-1])
            later.append(f"later-{len(later)}")
            self.ask(running, later[-1])

    def _is_of_each_process(self, id_: str) -> bool:
        named = self.named(id_)
        one = (
            "cocite-gateway POST /v1/recommend",
            "cocite-reranker close",
            "cocite-retriever retriever.retrieve",
        )
        return named["cocite-shard shard.score"] == SHARDS and all(named[each] for each in one)

    def papers(self, id_: str) -> list[tuple[str, float]]:
        assert self.answers[id_].status_code == 200, self.answers[id_].text
        return [(paper["id"], paper["score"]) for paper in self.answers[id_].json()["papers"]]

    def named(self, id_: str) -> Counter[str]:
        """How many spans of a request have which service and name."""
        return Counter(f"{span.service} {span.name}" for span in self.receiver.of(id_))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("traces")
    ShardedIndex.create(build_starter(folder / "corpus"), folder / "index", shards=SHARDS)
    silent = socket.create_server(("127.0.0.1", 0), backlog=64)
    port = silent.getsockname()[1]
    options = ["--log-dir", str(folder / "logs"), "--shard-policy", "partial"]
    for setting in (
        f"traces.endpoint=http://127.0.0.1:{port}",
        "shards.num_cpus=0.1",
        f"shards.round_s={ROUND_S}",
        "request_timeout_s=120",
    ):
        options += ["--set", setting]
    model, index, log = cross_encoder_folder(folder), folder / "index", folder / "log.txt"
    with serving(model, index, log, *options, environment=BATCHES) as running:
        answered = Seen(Receiver(""))
        for i in range(SILENT):
            answered.ask(running, f"silent-{i}")
        silent.close()
        with receiving(port) as answered.receiver:
            answered.ask(running, "alone")
            answered.ask(running, "continued", traceparent=SAMPLED)
            answered.ask(running, "not-traced", traceparent=SAMPLED[:-1] + "0")
            answered.ask(running, "refused", body={"context": WORDS, "titel": WORDS})
            answered.ask(running, "batch", "recommend/batch", [REQUEST, {"title": WORDS}])
            answered.ask(
                running, "scored", "rerank", {"context": f"{WORDS} [CIT]", "texts": [WORDS, "Parsing"]}
            )
            pid = replica_of(running, f"Shard-2-of-{SHARDS}")
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            answered.ask(running, "shard-stopped")
            os.kill(pid, signal.SIGCONT)
            answered.fill_batches(running)
            answered.replica_lines = replica_lines(running)
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait(240) == 0
    answered.request_lines = {line["request_id"]: line for line in kept_lines(folder, "gateway-*")}
    answered.kept_lines = kept_lines(folder, "replica-*")
    return answered


def kept_lines(folder: Path, files: str) -> list[dict[str, Any]]:
    """The lines of log files that outlive the endpoint."""
    paths = sorted((folder / "logs").glob(f"{files}.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def replica_lines(running: Running) -> list[dict[str, Any]]:
    """The lines that the replicas have logged, which are deleted when the endpoint ends."""
    commands = []
    for process in psutil.Process(running.process.pid).children(recursive=True):
        try:
            commands.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    [session] = {found[1] for each in commands if (found := re.search(r"(/\S+/session_[^/\s]+)", each))}
    return [
        json.loads(line)
        for path in Path(session, "logs", "serve").glob("replica_*.log")
        for line in path.read_text().splitlines()
    ]


def tree(spans: list[Received]) -> dict[str, Received]:
    """The spans of a trace by their ids; each but the first has its parent among them and lies within it in time."""
    by_id = {span.id: span for span in spans}
    assert len(by_id) == len(spans) > 0
    [root] = [span for span in spans if span.parent not in by_id]
    for span in spans:
        assert span.trace == root.trace
        if span is not root:
            # Processes of one machine have one clock; what is queued may be seen to end a little late.
            assert by_id[span.parent].begin <= span.begin
    return by_id


def path_of(span: Received, by_id: dict[str, Received]) -> list[str]:
    """Services and names from the first span down to one."""
    above = path_of(by_id[span.parent], by_id) if span.parent in by_id else []
    return [*above, f"{span.service.removeprefix('cocite-')} {span.name}"]


def test_a_request_is_one_trace_through_all_processes(seen: Seen) -> None:
    spans = seen.receiver.of("alone")
    by_id = tree(spans)
    [root] = [span for span in spans if span.parent == ""]
    assert (root.service, root.name, root.kind) == ("cocite-gateway", "POST /v1/recommend", "server")
    assert root.trace != TRACE
    version = seen.answers["alone"].json()["index_version"]
    assert root.attributes["http.response.status_code"] == 200
    assert root.attributes["cocite.index_version"] == version == "000001"
    paths = Counter(" > ".join(path_of(span, by_id)) for span in spans)
    request = "gateway POST /v1/recommend > gateway recommend"
    retriever = f"{request} > gateway retriever.retrieve > retriever retriever.retrieve"
    reranker = f"{request} > gateway reranker.rerank > reranker reranker.rerank"
    assert paths[f"{retriever} > retriever queue"] == paths[f"{reranker} > reranker queue"] == 1
    assert paths[f"{retriever} > retriever chunk > retriever generate > retriever encode"] == 1
    for phase, method in (("generate", "nearest"), ("score", "score")):
        asked = f"{retriever} > retriever chunk > retriever {phase} > retriever shard.{method}"
        for below in ("queue", "compute"):
            assert paths[f"{asked} > shard shard.{method} > shard {below}"] == SHARDS, paths
    for step in ("open", "chunk", "close"):
        assert paths[f"{reranker} > reranker {step}"] >= 1, paths
    items = [
        span.attributes["cocite.batch.items"]
        for span in spans
        if path_of(span, by_id)[-1] == "reranker chunk"
    ]
    assert sum(map(int, items)) == RERANK


def test_a_clients_trace_goes_on_and_its_wish_not_to_is_kept(seen: Seen) -> None:
    spans = seen.receiver.of("continued")
    tree(spans)
    assert {span.trace for span in spans} == {TRACE}
    [root] = [span for span in spans if span.parent == PARENT]
    assert root.name == "POST /v1/recommend"
    assert seen.answers["continued"].headers["traceresponse"] == f"00-{TRACE}-{root.id}-01"
    assert seen.request_lines["continued"]["trace_id"] == TRACE
    assert seen.receiver.of("not-traced") == []
    assert "traceresponse" not in seen.answers["not-traced"].headers
    assert seen.papers("alone") == seen.papers("continued") == seen.papers("not-traced")


def test_every_request_of_a_batch_and_of_texts_is_in_the_trace(seen: Seen) -> None:
    tree(seen.receiver.of("batch"))
    assert seen.named("batch")["cocite-gateway recommend"] == 2
    # No cross-encoder reads a whole paper here, so one replica answers it.
    assert seen.named("batch")["cocite-retriever retriever.retrieve"] == 1
    assert seen.named("batch")["cocite-retriever retriever.recommend"] == 1
    tree(seen.receiver.of("scored"))
    assert seen.answers["scored"].status_code == 200
    assert seen.named("scored")["cocite-reranker reranker.score"] == 1


def test_a_refusal_is_a_short_trace_and_no_error_of_the_server(seen: Seen) -> None:
    [root] = seen.receiver.of("refused")
    assert root.attributes["http.response.status_code"] == seen.answers["refused"].status_code == 422
    assert not root.failed


def test_a_shard_that_does_not_answer_is_in_the_trace_and_in_the_log_with_the_request(seen: Seen) -> None:
    assert seen.answers["shard-stopped"].json()["shards"]["missing"] == [2]
    lost = [span for span in seen.receiver.of("shard-stopped") if span.failed]
    names = {(span.service, span.name, span.attributes["error.type"]) for span in lost}
    assert ("cocite-retriever", "shard.nearest", "TimeoutError") in names, names
    [line] = [line for line in seen.replica_lines if "searches go on without it" in line["message"]]
    assert line["deployment"].endswith("Retriever")
    assert (line["request_id"], line["levelname"]) == ("shard-stopped", "WARNING")


def test_what_a_replica_logs_outlives_the_endpoint(seen: Seen) -> None:
    [line] = [line for line in seen.kept_lines if "searches go on without it" in line["message"]]
    assert line["deployment"].endswith("Retriever")
    assert (line["request_id"], line["level"]) == ("shard-stopped", "WARNING")
    # Each request has one line, in the gateways' log.
    assert not [line for line in seen.kept_lines if "/v1/recommend" in line["message"]]


def test_the_replicas_lines_name_their_requests(seen: Seen) -> None:
    of = {
        name: {line.get("request_id") for line in seen.replica_lines if line["deployment"].endswith(name)}
        for name in ("Gateway", "Retriever", "Reranker")
    }
    for deployment, ids in of.items():
        assert ids >= {"alone", "continued", "not-traced", "batch"}, deployment


def test_no_word_of_a_draft_leaves_the_request(seen: Seen) -> None:
    assert len(seen.receiver.bodies) > 5
    told = [*seen.receiver.bodies, json.dumps([seen.replica_lines, seen.request_lines]).encode()]
    for word in (*WORDS.split(), "BLEU"):
        assert not any(word.encode() in each for each in told), word
    kinds = {key for span in seen.receiver.spans for key in span.attributes}
    assert {key.split(".")[0] for key in kinds} == {"cocite", "http", "error"}
    assert not any(span.events for span in seen.receiver.spans)


def test_a_silent_collector_changes_nothing(seen: Seen) -> None:
    for i in range(SILENT):
        assert seen.papers(f"silent-{i}") == seen.papers("alone")
    # One that waited for the collector would take its whole time.
    assert min(seen.seconds[f"silent-{i}"] for i in range(SILENT)) < EXPORT_S
