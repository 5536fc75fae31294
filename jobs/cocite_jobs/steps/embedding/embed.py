"""Embedding a corpus: its papers divided into blocks, made by workers, and sealed as one artifact an encoder.

The blocks are written where they stay. The manifest comes last: a folder without one is an embedding that has not
ended, and goes on when it is begun again with the same corpus, encoder and settings.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.destinations import check_folder_destination
from cocite.errors import InputError, IntegrityError, NotFoundError, nearest
from cocite.manifests import MANIFEST, manifest_text, read_manifest
from cocite.pipeline.components import ENCODERS
from cocite.retrieval.index.documents import ENCODE
from cocite.retrieval.stored_vectors import KIND
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.embedding.blocks import Blocks, Precision
from cocite_jobs.steps.embedding.effort import Effort
from cocite_jobs.steps.parts import FinishedParts, Part, Result
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.cache import fetch_bodiless, fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock

BLOCK = 16_384
"""Papers of a block in a large corpus."""
BLOCKS = 64
"""A smaller corpus has about so many blocks, of whole batches: each is lost as a whole, and moves the bar."""

BEGUN = "begun"
"""A file beside the records of the blocks, which is there from before the first block on."""


@dataclass(frozen=True)
class Embedded:
    """One encoder's vectors, and what this run took of them.

    Attributes:
        encoder: its name.
        folder: the artifact, by its path or URI.
        meta: of the artifact.
        bytes: of all blocks.
        effort: of the blocks that this run made.
        seconds: wall time of this run.

    Example:
        >>> took = Effort(512, 60_000, 1e12, 10.0, 20.0, None, "float32")
        >>> Embedded("nnselect", "vectors/nnselect", {"rows": 512}, 204_928, took, 16.0).rates
        {'papers_per_s': 32.0, 'tokens_per_s': 3750.0}
    """

    encoder: str
    folder: str
    meta: dict[str, Any]
    bytes: int
    effort: Effort
    seconds: float

    @property
    def rates(self) -> dict[str, float]:
        """Papers and tokens a second of this run, and the share of the peak, each where it is known."""
        effort = self.effort
        if not effort.papers or not self.seconds:
            return {}
        found = {"papers_per_s": effort.papers / self.seconds}
        if effort.tokens:
            found["tokens_per_s"] = effort.tokens / self.seconds
        return found | ({} if effort.mfu is None else {"mfu": effort.mfu})


def choose_encoders(model: Path, names: Sequence[str] = ()) -> list[str]:
    """The encoders of a model folder, or those of some names.

    Raises:
        InputError: no encoder has such a name.
        NotFoundError: the folder does not hold one, or holds none.
    """
    if not model.is_dir():
        raise NotFoundError("no such model folder", where=str(model))
    for name in names:
        if name not in ENCODERS:
            raise InputError(f"no encoder {name!r}", where="--encoder", hint=nearest(name, ENCODERS))
        if not (model / name).is_dir():
            raise NotFoundError(f"holds no {name}", where=str(model), hint=f"train it: cocite train {name} …")
    found = [name for name in ENCODERS if (model / name).is_dir() and (not names or name in names)]
    if not found:
        raise NotFoundError(
            f"holds none of {', '.join(ENCODERS)}",
            where=str(model),
            hint="train an encoder into it: cocite train nnselect …",
        )
    return found


def block_size(papers: int) -> int:
    """Papers of a block: whole batches, so that the same papers are encoded together whatever the number of blocks.

    Example:
        >>> [block_size(papers) for papers in (100, 100_000, 10_000_000)]
        [512, 1536, 16384]
    """
    return min(BLOCK, max(1, papers // (BLOCKS * ENCODE)) * ENCODE)


def embed_corpus(
    corpus: str | Path,
    model: str | Path,
    to: str | Path,
    *,
    names: Sequence[str] = (),
    dtype: Precision = "float32",
    workers: Workers | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Embedded]:
    """Compute the vectors of all papers of a corpus by each encoder of a model folder.

    Args:
        corpus: a store, by its path or URI.
        model: a model folder, likewise.
        to: the folder of the vectors, likewise; a folder in it for each encoder.
        names: of the encoders; all by default.
        dtype: of the stored components.
        workers: who makes the blocks; this process by default.
        advance: receives the number of papers encoded since its last call.

    Raises:
        InputError: a destination holds something else.
        CociteError: corpus or model are damaged, or a block could not be made; the blocks that were made are kept.
    """
    workers = workers or Workers()
    store, folder, target = Corpus.open(fetch_bodiless(corpus)), fetch_local(model), Location.of(to)
    names = choose_encoders(folder, names)
    check_folder_destination(target.local)
    embeddings = [_embedding(store, str(corpus), folder, str(model), target, name, dtype) for name in names]
    with ExitStack() as stack:
        if workers.on == "ray":  # one Ray for all encoders
            stack.enter_context(ray_connection(workers.address, verbose=workers.verbose))
        return [embedding.make(workers, advance) for embedding in embeddings]


def _embedding(
    store: Corpus, corpus: str, folder: Path, model: str, to: Location, name: str, dtype: Precision
) -> _Embedding:
    blocks = Blocks(
        _everywhere(corpus),
        store.version,
        _everywhere(model),
        name,
        read_manifest(folder / name).digest,
        to / name,
        dtype,
    )
    embedding = _Embedding(blocks, to, len(store), block_size(len(store)))
    embedding.check_destination()
    return embedding


def _everywhere(source: str) -> str:
    """A path or URI as workers are given it, who work in other folders."""
    return Location.of(source).uri


@dataclass(frozen=True)
class _Embedding:
    """The vectors of one encoder in the making."""

    blocks: Blocks
    root: Location
    papers: int
    block: int

    @property
    def meta(self) -> dict[str, Any]:
        """What is known before a block is made."""
        blocks = self.blocks
        return {
            "corpus": blocks.corpus_version,
            "encoder": blocks.encoder,
            "encoder_id": blocks.encoder_id,
            "rows": self.papers,
            "block": self.block,
            "dtype": blocks.dtype,
        }

    @property
    def finished(self) -> FinishedParts:
        """The record of the finished blocks."""
        key = json.dumps(self.meta, sort_keys=True)
        return FinishedParts(self.root / f".{self.blocks.encoder}.parts", key)

    @property
    def parts(self) -> list[Part]:
        """The blocks; one of no paper where there is none, which has the dimension."""
        starts = range(0, max(self.papers, 1), self.block)
        ranges = [(first, min(first + self.block, self.papers)) for first in starts]
        return [
            Part(f"{number:06d}", last - first, (number, first, last))
            for number, (first, last) in enumerate(ranges)
        ]

    def check_destination(self) -> None:
        """Refuse to write where something else is.

        Raises:
            InputError: other vectors or files are there.
        """
        names = self.blocks.to.names()
        if MANIFEST in names:
            if self._sealed() is None:
                raise InputError(
                    "is another artifact, or holds vectors of another corpus, encoder or precision",
                    where=self.blocks.to.uri,
                    hint="name another folder, or remove it: --to",
                )
        elif names and not self.finished.folder.names():
            raise InputError(
                "is not empty and holds no vectors",
                where=self.blocks.to.uri,
                hint="name another folder: --to",
            )

    def make(self, workers: Workers, advance: Callable[[int], None]) -> Embedded:
        """Make the blocks that are missing, and seal the artifact."""
        began, to = time.perf_counter(), self.blocks.to
        with output_lock(self.root, f"{self.blocks.encoder}.embedding"):
            self.check_destination()  # another process may have ended meanwhile
            sealed = self._sealed() if MANIFEST in to.names() else None
            if sealed is not None:
                advance(self.papers)
                return self._embedded(sealed["meta"], sealed["files"], [], began)
            finished = self.finished
            before = self._recorded()
            if not before:  # what is there belongs to another corpus or encoder
                to.clear()
                finished.folder.clear()
                # A process that dies before the first block is recorded leaves vectors that are known as such.
                finished.folder.write(BEGUN, "")
            results = run_parts(self.blocks, self.parts, finished, workers, advance=advance)
            files = {result["file"]: result["entry"] for result in results}
            efforts = [Effort.read(result) for result in results]
            meta = {
                **self.meta,
                "dimension": results[0]["dimension"],
                "bodies": results[0]["bodies"],
                "computed_in": Effort.total(efforts).precision,
            }
            to.write(MANIFEST, manifest_text(KIND, meta, files))
            finished.folder.clear()
            fresh = [
                effort for part, effort in zip(self.parts, efforts, strict=True) if part.name not in before
            ]
            return self._embedded(meta, files, fresh, began)

    def _recorded(self) -> dict[str, Result]:
        """The results of the finished blocks; the records of those whose files are gone are removed."""
        finished, there = self.finished, self.blocks.to.files_below()
        found = finished.read()
        for name, result in list(found.items()):
            size, _ = there.get(result["file"], (-1, 0))
            if size != result["entry"]["bytes"]:
                finished.folder.remove(f"{name}.json")
                del found[name]
        return found

    def _embedded(
        self, meta: dict[str, Any], files: dict[str, Any], efforts: list[Effort], began: float
    ) -> Embedded:
        size = sum(entry["bytes"] for entry in files.values())
        seconds = time.perf_counter() - began
        return Embedded(self.blocks.encoder, self.blocks.to.uri, meta, size, Effort.total(efforts), seconds)

    def _sealed(self) -> Result | None:
        """The manifest that is there, where it is of these vectors; None: of others."""
        try:
            content = json.loads(self.blocks.to.read(MANIFEST) or b"")
            meta = content["meta"]
            same = content["kind"] == KIND and all(meta.get(key) == value for key, value in self.meta.items())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise IntegrityError(
                "is not the manifest of an artifact", where=(self.blocks.to / MANIFEST).uri
            ) from error
        return content if same else None
