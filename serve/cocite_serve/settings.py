"""Settings of the endpoint: where it listens, how many replicas it has, and what it refuses.

Every limit is here, or in the modules that this one imports, with its unit. The defaults suit one small machine that
serves one team.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from cocite.bounds import (
    Cores,
    FilePath,
    Name,
    Seconds,
    Share,
    TextLength,
)
from cocite.config import Settings
from cocite.pipeline.seed_lists import MOST
from cocite_serve.beside_settings import BesideSettings
from cocite_serve.replica_settings import GatewaySettings, ReplicaSettings, Requests

Candidates = Annotated[int, Field(ge=1, le=100_000)]
"""Papers of one request."""
CandidatesOrNone = Annotated[int, Field(ge=0, le=100_000)]
"""Papers, where 0 has a meaning of its own."""


def _address(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s?#]*)?", value):
        raise ValueError("expected http://HOST:PORT without a password")
    return value


Address = Annotated[str, Field(max_length=2_000), AfterValidator(_address)]
"""Where an HTTP service is; nothing secret is in it, for settings are shown."""


class Limits(Settings):
    """What a client may send. Above a limit the response is a 4xx with one sentence that names the limit.

    Example:
        >>> Limits(top_k=50).top_k
        50
        >>> Limits.parse({"topk": 50}, where="limits")
        Traceback (most recent call last):
        ...
        cocite.errors.ConfigError: limits: unknown key 'topk' (did you mean 'top_k'?)
    """

    connections: int = Field(default=4_096, ge=1, le=1_000_000)
    """Connections that are open at once; one more is answered 503 and closed."""
    head_bytes: int = Field(default=64 * 1024, ge=1024, le=1024**2)
    """Bytes of a request's method, path and header fields; more is answered 431."""
    head_s: Seconds = 10.0
    """Seconds within which they have to come, from the connection or the first byte on; then the connection is
    closed."""
    body_bytes: int = Field(default=256 * 1024, ge=1024, le=1024**3)
    """Bytes of a request's body; more is answered 413 before it is read."""
    body_s: Seconds = 10.0
    """Seconds within which a request's body has to come; then it is answered 408."""
    arriving_bytes: int = Field(default=256 * 1024**2, ge=1024, le=1024**4)
    """Bytes that all bodies which are not whole yet may take together; the request whose next part is one too many is
    answered 429."""
    title_chars: TextLength = 1_000
    """Characters of a title."""
    abstract_chars: TextLength = 20_000
    """Characters of an abstract."""
    text_chars: int = Field(default=100_000, ge=1, le=100_000_000)
    """Characters of a context or of a pasted draft."""
    top_k: Candidates = 100
    """Papers in one answer."""
    depth: Candidates = 2_000
    """Candidates that one request may have reranked."""
    rerank: CandidatesOrNone = 200
    """Candidates that one request may have read by the cross-encoder."""
    exclude: CandidatesOrNone = 500
    """Ids, or authors, that one request may exclude, or citation keys that it may call taken."""
    have: CandidatesOrNone = 2_000
    """Papers that one request may name as its author's own."""
    seeds: int = Field(default=MOST, ge=0, le=MOST)
    """Papers that one request may like, and dislike."""
    papers: Candidates = 200
    """Papers in one request for BibTeX."""
    links: int = Field(default=50, ge=1, le=200)
    """Papers in one request for the links among them."""
    texts: Candidates = 200
    """Texts, or ids, in one request to embed or to rerank; a text may have ``text_chars``."""
    weights: int = Field(default=100, ge=1, le=10_000)
    """Signals that one request may name in ``retrievers`` or ``weights``."""
    draft_bytes: int = Field(default=8 * 1024**2, ge=1024, le=1024**3)
    """Bytes of the body of a draft: its files, three bytes of a binary one as four."""
    draft_gaps: Requests = 100
    """Gaps of one draft."""
    draft_s: Seconds = 10.0
    """Seconds that the reading of a draft may take."""
    drafts_at_once: Requests = 1
    """Drafts that a gateway reads at a time, each in a process of its own; the others wait."""
    drafts_waiting: Requests = 16
    """Drafts that a gateway takes in, reads or keeps waiting; one more is answered 429 before its body is read."""
    batch: Requests = 64
    """Requests in one batch."""
    batch_at_once: Requests = 4
    """Of those, how many are worked on at a time; the others wait in the gateway, before they are admitted."""


class StageSettings(ReplicaSettings):
    """How one of the two stages is deployed.

    Example:
        Two replicas, up to four while requests wait, each with a quarter of a GPU:

        >>> StageSettings(replicas=2, max_replicas=4, num_gpus=0.25).max_replicas
        4
    """

    max_ongoing_requests: Requests = 512
    """Requests that a replica takes in at once. They wait inside it, where they can be computed together; outside, in
    Ray Serve's router, a waiting one is looked at up to half a second late."""
    max_queued_requests: Requests = 64
    """Requests that one gateway keeps waiting for a replica that takes them in; one more is answered 429."""
    num_cpus: Cores = 0.5
    """Cores that a replica reserves with Ray. It computes in one thread whatever this says."""
    num_gpus: Cores = 0.0
    """GPUs that a replica reserves with Ray."""


class QueueSettings(StageSettings):
    """How a stage is deployed in which requests wait for one another.

    Example:
        >>> QueueSettings(max_wait_s=2).max_wait_s
        2.0
    """

    target_wait_s: Seconds = 1.0
    """With ``max_replicas``: seconds within which the replicas should work off what is queued in them; while it is
    more, one more is started."""

    max_wait_s: Seconds = 10.0
    """Seconds that a request may be expected to wait for others in this stage; above it is refused at once, with
    429."""
    stuck_s: Seconds = 30.0
    """Seconds that one step may take, such as a chunk of pairs, or a golden query of the health check; a replica whose
    step takes longer is replaced, and another one asked what it had taken in, as far as there is time: where
    ``request_timeout_s`` is longer by some four seconds."""


class RetrieverSettings(QueueSettings):
    """How the first stage is deployed.

    Example:
        >>> RetrieverSettings().block
        4
    """

    block: int = Field(default=4, ge=1, le=1_000)
    """Most waiting queries that are encoded and searched together, and answered together; of texts to embed, as many as
    have 128 tokens for each such query. More is worth while where one
    query leaves the device idle, as on a GPU; on a CPU it makes the first of them wait for the last."""


class RerankerSettings(QueueSettings):
    """How the second stage is deployed.

    Example:
        >>> RerankerSettings(chunk_tokens=4096).least_read
        10
    """

    chunk_tokens: int | None = Field(default=None, ge=64, le=10_000_000)
    """Tokens of the pairs that the cross-encoder reads at once, of several requests; between two such chunks requests
    come and go. When not given, as many as the device needs to be busy."""
    least_read: CandidatesOrNone = 10
    """Candidates that the cross-encoder has to read for a request with a ``deadline_ms`` that does not allow all of
    them; where others are the reason that it cannot, the request is refused with 429."""


class ShardSettings(StageSettings):
    """How each shard of an index that is divided into shards is deployed.

    Example:
        Two replicas of each shard, and answers without the shards that do not reply within two seconds:

        >>> settings = ShardSettings(replicas=2, round_s=2, policy="partial")
        >>> settings.policy, settings.max_ongoing_requests
        ('partial', 16)
    """

    target_requests: Requests = 2
    """With ``max_replicas``: calls in a replica, above which one more is started."""
    max_ongoing_requests: Requests = 16
    """Calls that a replica takes in at once: it works on one, the others wait inside it."""
    round_s: Seconds = 5.0
    """Seconds within which every shard has to answer each of the two rounds of a request."""
    stuck_s: Seconds = 30.0
    """Seconds that one search may take, of a request or of the health check; a replica whose search takes longer is
    replaced."""
    policy: Literal["fail", "partial"] = "fail"
    """What follows when a shard does not answer: ``fail``: 503 and its number; ``partial``: the papers of the others,
    and ``shards`` of the answer says what is missing."""


def _cache() -> Path:
    from cocite.verification import cache_folder  # needs NumPy: not for a command that only shows its help

    return cache_folder() / "models"


class RegistrySettings(Settings):
    """Where registered models come from.

    Example:
        >>> RegistrySettings(folder="runs", cache="/var/cache/models").folder
        PosixPath('runs')
    """

    folder: FilePath = Path(".")
    """Holds ``mlflow.db``, unless ``MLFLOW_TRACKING_URI`` names another store."""
    cache: FilePath = Field(default_factory=_cache)
    """Folder of the last versions that were fetched; every machine with a replica must see it."""


class WatchSettings(Settings):
    """How often a running endpoint looks for newer versions, and how long these may take to load.

    Example:
        >>> WatchSettings(seconds=30).start_s
        600.0
    """

    seconds: Annotated[float, Field(ge=0, le=31_536_000)] | None = None
    """Seconds between two looks; 0: never. When not given, 60 for a model by alias, and never for any other."""
    start_s: Seconds = 600.0
    """Seconds that new stages may take to load, and gateways to switch to them; then they are given up, and the old
    ones stay."""


class RolloutSettings(Settings):
    """What a release has to prove before it is served, beside the one that is served now.

    Example:
        >>> RolloutSettings(canary_s=300, canary_share=0.05).queries
        8
    """

    queries: Annotated[int, Field(ge=0, le=1_000)] = 8
    """Golden queries that are made of the index where the model keeps none (``cocite model golden``). 0: none are
    asked, those that are kept neither."""
    timeout_s: Seconds = 5.0
    """Seconds that a release on trial may take for a client's request in the canary, which the release served now
    answers then. A golden query may take ``request_timeout_s``, where that is longer."""
    least_kept: Share = 0.5
    """Share of the papers that the model's golden queries expect, and the index still has, which must be found."""
    least_correlation: Share = 0.8
    """Correlation with the kept scores of the stages that read texts alone, such as the cross-encoder."""
    least_overlap: Share = 0.3
    """Share of the papers found by the release served now that the new one must find too, for golden queries."""
    latency_factor: Annotated[float, Field(gt=1, le=1_000)] = 5.0
    """How many times as long as the release served now a new one may take for golden queries with a gap, and for those
    with a whole paper, by the medians."""
    latency_floor_s: Seconds = 0.5
    """Median seconds for a golden query up to which a release is never too slow."""
    canary_share: Share = 0.1
    """Share of the requests that a new release answers before it answers all; 0: there is no canary."""
    canary_s: Annotated[float, Field(ge=0, le=604_800)] = 30.0
    """Seconds that the canary lasts; 0: there is none."""
    canary_errors: Share = 0.02
    """Share of failed requests by which the canary may exceed the release served now; one failure is forgiven."""
    canary_factor: Annotated[float, Field(gt=1, le=1_000)] = 3.0
    """How many times as long as by the release served now a request may take in the canary, both by their median at its
    end; the square of it at any time."""
    canary_slower_s: Seconds = 0.1
    """Seconds by which the canary's median must at least be longer to be too long."""
    canary_requests: Annotated[int, Field(ge=1, le=1_000_000)] = 10
    """Requests answered by each of the two before their medians are compared."""

    @property
    def has_canary(self) -> bool:
        """Whether a new release answers a share of the requests before it answers all."""
        return self.canary_share > 0 and self.canary_s > 0


def _state() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "cocite" / "logs"


class LogSettings(Settings):
    """Where the endpoint's processes write their lines, such as one for each request, which outlive them.

    Example:
        >>> LogSettings(folder="/var/log/cocite", files=10).file_bytes
        10485760
    """

    folder: FilePath = Field(default_factory=_state)
    """Folder of the logs, ``$XDG_STATE_HOME/cocite/logs`` when not given; on a cluster, of each machine."""
    file_bytes: int = Field(default=10 * 1024**2, ge=1024, le=1024**4)
    """Bytes of a file; then a new one is begun."""
    files: int = Field(default=5, ge=2, le=1_000)
    """Files that each process keeps; the oldest is deleted."""


class TraceSettings(Settings):
    """Where OpenTelemetry traces of requests go. Without an endpoint, here or in the environment, there are none.

    Example:
        >>> TraceSettings(endpoint="http://127.0.0.1:4318", share=0.1).share
        0.1
        >>> TraceSettings.parse({"endpoint": "localhost:4318"}, where="traces")
        Traceback (most recent call last):
        ...
        cocite.errors.ConfigError: traces: endpoint: expected http://HOST:PORT without a password, got 'localhost:4318'
    """

    endpoint: Address | None = None
    """Address of a collector that takes OTLP over HTTP, ``/v1/traces`` left out. When not given, what
    ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_ENDPOINT`` of the environment say."""
    share: Share | None = None
    """Share of the requests that are traced, of those whose client does not say whether it traces them. When not given,
    what ``OTEL_TRACES_SAMPLER`` of the environment says, else all."""


class KeySettings(Settings):
    """Who may ask. Without keys anybody may who reaches the endpoint.

    Example:
        >>> KeySettings(file="/etc/cocite/keys").check_s
        2.0
    """

    file: FilePath | None = None
    """The file of API keys that `cocite keys new` writes; without one, the lines in ``COCITE_KEYS`` of the
    environment. Every gateway must see it."""
    check_s: Seconds = 2.0
    """Seconds after which a change of the file is seen, at most."""


class ServeSettings(Settings):
    """All settings of `cocite serve`.

    Example:
        >>> settings = ServeSettings(index="index", model="models:/ranker@champion", retriever={"replicas": 2})
        >>> settings.retriever.replicas, settings.reranker.replicas
        (2, 1)
    """

    model: FilePath | None = None
    """The model: a folder, or ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` of the registry; without one the
    first stage alone ranks."""
    index: FilePath
    """The index folder."""
    index_version: Name | None = None
    """The snapshot to serve; the current one when not given. All replicas serve the same one."""
    registry: RegistrySettings = RegistrySettings()
    watch: WatchSettings = WatchSettings()
    rollout: RolloutSettings = RolloutSettings()
    beside: BesideSettings = BesideSettings()
    logs: LogSettings = Field(default_factory=LogSettings)
    traces: TraceSettings = TraceSettings()
    keys: KeySettings = KeySettings()
    host: Name = "127.0.0.1"
    """Address to listen on; the default is reachable from this machine alone."""
    port: int = Field(default=8000, ge=1, le=65535)
    """TCP port."""
    metrics_port: int = Field(default=0, ge=0, le=65535)
    """TCP port on 127.0.0.1 where Prometheus reads metrics; 0: any free one. On a cluster it is an
    option of ``ray start``."""
    top_k: Candidates = 20
    """Papers in an answer when the request does not say."""
    depth: Candidates = 300
    """Candidates reranked when the request does not say."""
    rerank: CandidatesOrNone = 30
    """The best of those, which the cross-encoder reads when the request does not say; 0: none. They take most of the
    time: some hundredths of a second each on one core."""
    cross_weight: Share = 0.5
    """What the cross-encoder's score counts beside the order before it, where no final fusion has learned that."""
    start_s: Seconds = 180.0
    """Seconds for which Ray and its HTTP proxy are waited for where a busy machine does not bring them up at once. How
    long the stages may take to load is ``watch.start_s``."""
    request_timeout_s: Seconds = 20.0
    """Seconds that one request may take; then it is given up and answered 504."""
    retry_after_s: int = Field(default=1, ge=0, le=86_400)
    """Seconds after which a client may try again (``Retry-After``), where they cannot be computed: while a version is
    being rolled out, or too many requests are in the gateway. One that is refused because it would wait too long is
    told the seconds after which it would not."""
    limits: Limits = Limits()
    gateway: GatewaySettings = GatewaySettings()
    retriever: RetrieverSettings = RetrieverSettings()
    reranker: RerankerSettings = RerankerSettings()
    shards: ShardSettings = ShardSettings()
    """Of each shard, where the index is divided into shards."""
