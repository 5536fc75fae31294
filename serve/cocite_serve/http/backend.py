"""What the paths call: the papers of an index and the stages, as a gateway has them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.metrics import Served
from cocite_serve.http.text_work import EmbedWork, ModelFacts, ScoreWork
from cocite_serve.http.version_schemas import RefusedRelease


class Backend(Served, Protocol):
    """The part that the API calls: the papers of an index, and the two stages.

    Example:
        >>> import asyncio
        >>> class NoPapers(list):
        ...     created = None
        >>> class NoStages:
        ...     papers, model_version, index_version, registered = NoPapers(), "5f0c", "000001", None
        ...     refused, beside, model = (), None, None
        ...     def holding(self, model, index): return self
        ...     def chosen(self, release, client): return self
        ...     async def recommend(self, query, options, deadline):
        ...         return Answer([], retrieve_ms=1.0, rerank_ms=0.0)
        ...     async def facts(self): return ModelFacts()
        ...     async def embed(self, work, deadline): ...
        ...     async def score(self, work, deadline): ...
        ...     async def ready(self): ...
        >>> backend: Backend = NoStages()
        >>> asyncio.run(backend.facts()).encoders
        ()
    """

    refused: tuple[RefusedRelease, ...]
    model: Path | None
    """The folder of the release's model; None: it has none."""

    @property
    def beside(self) -> Backend | None:
        """The second release that is loaded; None: there is none."""
        ...

    def chosen(self, release: str | None, client: str, /) -> Backend:
        """What answers a request.

        Args:
            release: that the request names; None: it names none.
            client: a name of who asks, by which traffic is split.

        Raises:
            InputError: the release is not loaded.
        """
        ...

    def holding(self, model: str, index: str, /) -> Backend:
        """The release of these versions where requests go to two of them, else this backend."""
        ...

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """The ranked papers of one query; TimeoutError when the deadline passed."""
        ...

    async def facts(self) -> ModelFacts:
        """What is known of the encoders and the cross-encoder that are served."""
        ...

    async def embed(self, work: EmbedWork, deadline: Deadline) -> NDArray[np.float32]:
        """(n, d) the vectors of texts or papers; TimeoutError when the deadline passed."""
        ...

    async def score(self, work: ScoreWork, deadline: Deadline) -> NDArray[np.float32]:
        """(r,) the cross-encoder's logits of texts; TimeoutError when the deadline passed."""
        ...

    async def ready(self) -> None:
        """Return when both stages are loaded and answer."""
        ...
