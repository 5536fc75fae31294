"""What the endpoint can be told: where it listens, how many replicas it has, and what it refuses.

Every limit is here, with its unit. The defaults suit one small machine that serves one team.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from cocite.config import Settings


class Limits(Settings):
    """What a stranger may send. Above a limit the answer is a 4xx with one sentence that names the limit."""

    body_bytes: int = Field(default=256 * 1024, ge=1024)
    """Bytes of a request's body; more is answered 413 before it is read."""
    title_chars: int = Field(default=1_000, ge=1)
    """Characters of a title."""
    abstract_chars: int = Field(default=20_000, ge=1)
    """Characters of an abstract."""
    text_chars: int = Field(default=100_000, ge=1)
    """Characters of a context or of a pasted draft."""
    top_k: int = Field(default=100, ge=1)
    """Papers in one answer."""
    depth: int = Field(default=2_000, ge=1)
    """Candidates that one request may have reranked."""
    rerank: int = Field(default=200, ge=0)
    """Candidates that one request may have read by the cross-encoder."""
    exclude: int = Field(default=500, ge=0)
    """Ids, or authors, that one request may exclude."""
    papers: int = Field(default=200, ge=1)
    """Papers in one request for BibTeX."""


class Stage(Settings):
    """How one deployment of the two stages runs."""

    replicas: int = Field(default=1, ge=1)
    """Processes, each with its own stage object."""
    max_replicas: int | None = Field(default=None, ge=1)
    """With more than ``replicas``, Ray Serve adds processes while requests wait, up to this many."""
    max_ongoing_requests: int = Field(default=4, ge=1)
    """Requests that a replica takes in at once: it works on one, the others wait inside it."""
    max_queued_requests: int = Field(default=64, ge=1)
    """Requests that one gateway keeps waiting for a free replica; one more is answered 429."""
    num_cpus: float = Field(default=0.5, ge=0)
    """Cores that a replica reserves with Ray. It computes in one thread whatever this says."""
    num_gpus: float = Field(default=0.0, ge=0)
    """GPUs that a replica reserves with Ray."""


class Gateway(Settings):
    """How the gateway runs: it checks requests and waits for the stages, and computes nothing itself."""

    replicas: int = Field(default=1, ge=1)
    """Processes that speak HTTP."""
    max_ongoing_requests: int = Field(default=256, ge=1)
    """Requests in one gateway at once, those that wait for a stage included."""
    max_queued_requests: int = Field(default=256, ge=1)
    """Requests that the proxy keeps waiting for a gateway; one more is answered 429."""
    num_cpus: float = Field(default=0.1, ge=0)
    """Cores that a gateway reserves with Ray."""


def _cache() -> Path:
    from cocite.verification import cache_folder  # needs NumPy: not for a command that only shows its help

    return cache_folder() / "models"


class Registry(Settings):
    """Where registered models come from."""

    folder: Path = Path(".")
    """Holds ``mlflow.db``, unless ``MLFLOW_TRACKING_URI`` names another store."""
    cache: Path = Field(default_factory=_cache)
    """Keeps the last versions that were fetched; every machine with a replica must see it."""


class Watch(Settings):
    """How a running endpoint learns that there is something newer to serve."""

    seconds: float | None = Field(default=None, ge=0)
    """Seconds between two looks; 0: never. When not given, 60 for a model by alias, and never for any other."""
    start_s: float = Field(default=600.0, gt=0)
    """Seconds that new stages may take to load, and gateways to turn to them; then they are given up, and the old ones
    stay."""


class ServeSettings(Settings):
    """Everything that `cocite serve` runs with."""

    model: Path | None = None
    """The model: a folder, or ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` of the registry; without one the
    untrained blend of the first stage ranks."""
    index: Path
    """The index folder."""
    index_version: str | None = None
    """The snapshot to serve; the current one when not given. All replicas serve the same one."""
    registry: Registry = Registry()
    watch: Watch = Watch()
    host: str = Field(default="127.0.0.1", min_length=1)
    """Address to listen on. There is no login: the default is reachable from this machine alone."""
    port: int = Field(default=8000, ge=1, le=65535)
    """TCP port."""
    top_k: int = Field(default=20, ge=1)
    """Papers in an answer when the request does not say."""
    depth: int = Field(default=300, ge=1)
    """Candidates reranked when the request does not say."""
    rerank: int = Field(default=30, ge=0)
    """The best of those, which the cross-encoder reads when the request does not say; 0: none. They take most of the
    time: some hundredths of a second each on one core."""
    cross_weight: float = Field(default=0.5, ge=0, le=1)
    """What the cross-encoder's score counts beside the order before it, where no final fusion has learned that."""
    start_s: float = Field(default=180.0, ge=0)
    """Seconds for which Ray and its HTTP proxy are waited for where a busy machine does not bring them up at once. How
    long the stages may take to load is ``watch.start_s``."""
    request_timeout_s: float = Field(default=20.0, gt=0)
    """Seconds that one request may take; then it is given up and answered 504."""
    retry_after_s: int = Field(default=1, ge=0)
    """Seconds after which a refused (429) client is told to try again."""
    limits: Limits = Limits()
    gateway: Gateway = Gateway()
    retriever: Stage = Stage()
    reranker: Stage = Stage()
