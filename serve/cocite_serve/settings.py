"""Settings of the endpoint: where it listens, how many replicas it has, and what it refuses.

Every limit is here, with its unit. The defaults suit one small machine that serves one team.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from cocite.bounds import (
    Cores,
    FilePath,
    Name,
    PositiveSmallCount,
    Seconds,
    Share,
    TextLength,
)
from cocite.config import Settings

Candidates = Annotated[int, Field(ge=1, le=100_000)]
"""Papers of one request."""
CandidatesOrNone = Annotated[int, Field(ge=0, le=100_000)]
"""Papers, where 0 has a meaning of its own."""
Requests = Annotated[int, Field(ge=1, le=1_000_000)]
"""Requests that wait, or are worked on, at a time."""


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

    body_bytes: int = Field(default=256 * 1024, ge=1024, le=1024**3)
    """Bytes of a request's body; more is answered 413 before it is read."""
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
    """Ids, or authors, that one request may exclude."""
    papers: Candidates = 200
    """Papers in one request for BibTeX."""


class StageSettings(Settings):
    """How one of the two stages is deployed.

    Example:
        Two replicas, up to four while requests wait, each with a quarter of a GPU:

        >>> StageSettings(replicas=2, max_replicas=4, num_gpus=0.25).max_replicas
        4
    """

    replicas: PositiveSmallCount = 1
    """Processes, each with its own stage object."""
    max_replicas: PositiveSmallCount | None = None
    """With more than ``replicas``, Ray Serve adds processes while requests wait, up to this many."""
    max_ongoing_requests: Requests = 4
    """Requests that a replica takes in at once: it works on one, the others wait inside it."""
    max_queued_requests: Requests = 64
    """Requests that one gateway keeps waiting for a free replica; one more is answered 429."""
    num_cpus: Cores = 0.5
    """Cores that a replica reserves with Ray. It computes in one thread whatever this says."""
    num_gpus: Cores = 0.0
    """GPUs that a replica reserves with Ray."""


class ShardSettings(StageSettings):
    """How each shard of an index that is divided into shards is deployed.

    Example:
        Two replicas of each shard, and answers without the shards that do not reply within two seconds:

        >>> settings = ShardSettings(replicas=2, round_s=2, policy="partial")
        >>> settings.policy, settings.max_ongoing_requests
        ('partial', 16)
    """

    max_ongoing_requests: Requests = 16
    """Calls that a replica takes in at once: it works on one, the others wait inside it."""
    round_s: Seconds = 5.0
    """Seconds within which every shard has to answer each of the two rounds of a request."""
    policy: Literal["fail", "partial"] = "fail"
    """What follows when a shard does not answer: ``fail``: 503 and its number; ``partial``: the papers of the others,
    and ``shards`` of the answer says what is missing."""


class GatewaySettings(Settings):
    """How the gateway is deployed: it checks requests and waits for the stages, and computes nothing itself.

    Example:
        >>> GatewaySettings().max_ongoing_requests
        256
    """

    replicas: PositiveSmallCount = 1
    """Processes that answer HTTP requests."""
    max_ongoing_requests: Requests = 256
    """Requests in one gateway at once, those that wait for a stage included."""
    max_queued_requests: Requests = 256
    """Requests that the proxy keeps waiting for a gateway; one more is answered 429."""
    num_cpus: Cores = 0.1
    """Cores that a gateway reserves with Ray."""


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


class ServeSettings(Settings):
    """All settings of `cocite serve`.

    Example:
        >>> settings = ServeSettings(index="index", model="models:/ranker@champion", retriever={"replicas": 2})
        >>> settings.retriever.replicas, settings.reranker.replicas
        (2, 1)
    """

    model: FilePath | None = None
    """The model: a folder, or ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` of the registry; without one the
    untrained blend of the first stage ranks."""
    index: FilePath
    """The index folder."""
    index_version: Name | None = None
    """The snapshot to serve; the current one when not given. All replicas serve the same one."""
    registry: RegistrySettings = RegistrySettings()
    watch: WatchSettings = WatchSettings()
    host: Name = "127.0.0.1"
    """Address to listen on. There is no login: the default is reachable from this machine alone."""
    port: int = Field(default=8000, ge=1, le=65535)
    """TCP port."""
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
    """Seconds after which a refused (429) client may try again: its ``Retry-After``."""
    limits: Limits = Limits()
    gateway: GatewaySettings = GatewaySettings()
    retriever: StageSettings = StageSettings()
    reranker: StageSettings = StageSettings()
    shards: ShardSettings = ShardSettings()
    """Of each shard, where the index is divided into shards."""
