"""Nearest vectors, on FAISS: exact, inverted lists, compressed inverted lists or a graph behind one interface.

All vectors are unit vectors and their similarity is the inner product. The raw vectors are memory-mapped: from them
come the similarity of any pair, and the exact scores of what an index of compressed vectors retrieves. Of an exact
index they are FAISS's own file, of others they lie beside it.
"""

from __future__ import annotations

import importlib
import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cocite.artifacts import load_array
from cocite.atomic_files import write_atomic
from cocite.errors import InputError, NotFoundError, nearest
from cocite.manifests import read_error, read_json
from cocite.protocols import NO_ROW, Ranking


class _Faiss:
    """The library, imported when it is first used: an index without vectors opens without it.

    Its type stubs lack much of its Python interface, so that everything is ``Any``.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("faiss"), name)


faiss = _Faiss()

KINDS = ("flat", "ivf", "ivfpq", "hnsw")
"""Exact search; inverted lists of one byte a component; of product-quantised vectors; a navigable graph."""
FLAT_LIMIT = 100_000
"""Up to here the exact search is chosen: some 8 ms a query on one core at 384 dimensions."""
IVF_LIMIT = 4_000_000
"""Up to here a byte a component stays in memory; beyond, a quarter of that."""
CHUNK = 65_536
"""Vectors added to a FAISS index at a time."""
TRAINING = 64
"""Vectors that inverted lists are trained on, for each list: FAISS asks for at least 39, and k-means takes most of
the time that a large index takes to build."""
REFINE = {"ivf": 2, "ivfpq": 8}
"""An index of compressed vectors is asked for this many times more candidates, whose exact scores then decide."""


def check_kind(kind: str) -> None:
    """Refuse a kind that is neither ``auto`` nor one of :data:`KINDS`.

    Raises:
        InputError: it is another.
    """
    if kind not in ("auto", *KINDS):
        raise InputError(f"unknown kind of vector index {kind!r}", hint=nearest(kind, ("auto", *KINDS)))


def choose_kind(count: int) -> str:
    """The kind for a number of vectors. A graph is never chosen: it is as quick as lists, but slow to build.

    Example:
        >>> [choose_kind(count) for count in (20_000, 1_000_000, 10_000_000)]
        ['flat', 'ivf', 'ivfpq']
    """
    if count <= FLAT_LIMIT:
        return "flat"
    return "ivf" if count <= IVF_LIMIT else "ivfpq"


class VectorIndex:
    """N unit vectors of one dimension.

    Attributes:
        kind: one of :data:`KINDS`.
        raw: (N, d) float32, possibly memory-mapped.
        threads: how many threads FAISS may use; one per replica is quickest on a busy machine.

    Example:
        >>> index = VectorIndex.build(np.eye(3, dtype=np.float32))
        >>> index.search([[0.0, 0.8, 0.6]], 2)
        Ranking(rows=array([[1, 2]], dtype=int32), scores=array([[0.8, 0.6]], dtype=float32))
        >>> index.similarities(np.array([[0.0, 0.8, 0.6]], np.float32), [[0, 2]])
        array([[0. , 0.6]], dtype=float32)
    """

    def __init__(self, kind: str, raw: NDArray[np.float32], engine: Any, *, threads: int = 1) -> None:
        self.kind, self.raw, self.threads = kind, raw, threads
        self._engine = engine
        self._on_gpu = _to_gpu(engine, kind)

    @classmethod
    def build(
        cls, vectors: ArrayLike, kind: str = "auto", *, threads: int = 1, trained: Any = None
    ) -> VectorIndex:
        """Index unit vectors (N, d).

        Args:
            vectors: to index.
            kind: ``auto`` or one of :data:`KINDS`.
            threads: how many FAISS may use, here and in searches.
            trained: what :func:`train` gave for this kind; it gets the vectors. None: trained on these vectors.

        Raises:
            InputError: they are no matrix, or the kind is unknown.
        """
        raw = np.ascontiguousarray(vectors, np.float32)
        if raw.ndim != 2:
            raise InputError(f"vectors of shape {raw.shape} are not (count, dimension)")
        check_kind(kind)
        if kind == "auto":
            kind = choose_kind(len(raw))
        if trained is None:
            trained = train(_sample(raw, training_size(kind, len(raw))), kind, len(raw), threads=threads)
        faiss.omp_set_num_threads(threads)
        _add(trained, raw)
        return cls(kind, raw, trained, threads=threads)

    def append(self, vectors: ArrayLike) -> VectorIndex:
        """A new index with more vectors behind the present ones; nothing is trained again."""
        new = np.ascontiguousarray(vectors, np.float32).reshape(-1, self.dimension)
        raw = np.concatenate([self.raw, new])
        if not len(self):
            return VectorIndex.build(new, self.kind, threads=self.threads)
        if self.kind == "flat":
            # A memory-mapped flat index cannot grow, and holds nothing but the vectors.
            engine = _new("flat", len(raw), self.dimension)
            _add(engine, raw)
        else:
            engine = faiss.clone_index(self._engine)
            _add(engine, new)
        return VectorIndex(self.kind, raw, engine, threads=self.threads)

    @cached_property
    def aligned(self) -> NDArray[np.float32]:
        """(N, d) the raw vectors in memory, for products with all of them.

        FAISS' file has them at an odd address, from where NumPy copies number by number for every product: 49 ms for
        20,299 vectors of 384 components, 1.7 ms from here.
        """
        return self.raw if self.raw.flags.aligned else np.array(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""
        return int(self.raw.shape[1])

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """(..., d) raw vectors of some rows; zeros at ``NO_ROW``, so that its similarity to anything is 0."""
        rows = np.asarray(rows)
        if not len(self):
            return np.zeros((*rows.shape, self.dimension), np.float32)
        vectors = self.raw[np.maximum(rows, 0)]
        vectors[rows < 0] = 0
        return np.asarray(vectors, np.float32)

    def similarities(self, queries: NDArray[np.float32], rows: ArrayLike) -> NDArray[np.float32]:
        """(Q, k) inner products of queries (Q, d) with given papers (Q, k); 0 at ``NO_ROW``."""
        rows = np.asarray(rows)
        result = np.empty(rows.shape, np.float32)
        step = max(1, 16_000_000 // max(rows.shape[1] * self.dimension, 1))
        for i in range(0, len(rows), step):
            result[i : i + step] = np.einsum(
                "qd,qkd->qk", queries[i : i + step], self.vectors(rows[i : i + step])
            )
        return result

    def search(self, queries: ArrayLike, k: int, allowed: NDArray[np.bool_] | None = None) -> Ranking:
        """The ``k`` nearest of each query (Q, d).

        Args:
            queries: unit vectors.
            k: how many.
            allowed: (N,) which may be retrieved; None for all.

        Raises:
            InputError: the queries have another dimension than the index.
        """
        vectors = np.ascontiguousarray(queries, np.float32)
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension:
            raise InputError(
                f"queries of shape {vectors.shape} do not fit vectors of {self.dimension} components"
            )
        k = min(k, len(self) if allowed is None else int(allowed.sum()))
        if not k or not len(vectors):
            return Ranking(np.empty((len(vectors), k), np.int32), np.empty((len(vectors), k), np.float32))
        faiss.omp_set_num_threads(self.threads)
        wanted = min(len(self), k * REFINE.get(self.kind, 1))
        if self._on_gpu is not None and allowed is None:
            scores, rows = self._on_gpu.search(vectors, wanted)
        else:
            scores, rows = self._engine.search(vectors, wanted, params=self._parameters(wanted, allowed))
        scores = np.where(rows == NO_ROW, -np.inf, scores)
        ranking = Ranking(rows.astype(np.int32), scores.astype(np.float32))
        if self.kind in REFINE:
            ranking = ranking.rescored(self.similarities(vectors, ranking.rows))
        return ranking.top(k)

    def _parameters(self, wanted: int, allowed: NDArray[np.bool_] | None) -> Any:
        # FAISS keeps no reference to the bitmap; the selector must hold it while the search runs.
        options: dict[str, Any] = {}
        if allowed is not None:
            options["sel"] = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        if self.kind in ("ivf", "ivfpq"):
            return faiss.SearchParametersIVF(nprobe=_probes(len(self), self._engine.nlist, wanted), **options)
        if self.kind == "hnsw":
            return faiss.SearchParametersHNSW(efSearch=max(128, 2 * wanted), **options)
        return faiss.SearchParameters(**options)

    # -- files --------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write ``index.faiss``, ``vectors.json`` and, unless the index is exact, ``vectors.npy`` into a new folder."""
        folder = Path(folder)
        folder.mkdir(parents=True)
        if self.kind != "flat":
            np.save(folder / "vectors.npy", self.raw)
        faiss.write_index(self._engine, str(folder / "index.faiss"))
        settings = {"kind": self.kind, "count": len(self), "dimension": self.dimension}
        write_atomic(folder / "vectors.json", json.dumps(settings, indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path, *, threads: int = 1) -> VectorIndex:
        """Open a saved index: the raw vectors are memory-mapped, and the FAISS file where its kind allows it.

        Raises:
            NotFoundError: there is no such folder.
            IntegrityError: it holds no readable index.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise NotFoundError("no such folder", where=str(folder))
        settings = read_json(folder / "vectors.json")
        try:
            flat = settings["kind"] == "flat"
            raw = _raw_vectors(folder, settings)
            flags = faiss.IO_FLAG_MMAP_IFC if flat else 0
            # Opened first: FAISS reports a file that the system refuses and one of bad content alike.
            (folder / "index.faiss").open("rb").close()
            engine = faiss.read_index(str(folder / "index.faiss"), flags)
            if raw.shape != (settings["count"], settings["dimension"]) or engine.ntotal != len(raw):
                raise ValueError(f"{engine.ntotal} indexed, {raw.shape} kept, {settings} written")
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise read_error(error, folder, "not a readable vector index", "build the index again") from error
        return cls(settings["kind"], raw, engine, threads=threads)


def load_raw(folder: Path) -> NDArray[np.float32]:
    """(N, d) the raw vectors of a saved index, memory-mapped; FAISS is not asked.

    Raises:
        IntegrityError: the folder holds no readable vectors.
    """
    settings = read_json(folder / "vectors.json")
    try:
        return _raw_vectors(folder, settings)
    except (OSError, KeyError, ValueError) as error:
        raise read_error(error, folder, "not readable vectors", "build the index again") from error


def training_size(kind: str, count: int) -> int:
    """How many vectors an index of ``count`` vectors is trained on; 0 where its kind needs no training.

    Example:
        >>> training_size("flat", 1_000_000), training_size("ivf", 1_000_000)
        (0, 256000)
    """
    return int(max(TRAINING * _lists(count), 65_536)) if kind in ("ivf", "ivfpq") else 0


def train(sample: NDArray[np.float32], kind: str, count: int, *, threads: int = 1) -> Any:
    """A FAISS index of one of :data:`KINDS` without vectors, trained where its kind needs it.

    Args:
        sample: (n, d) unit vectors to train on; not read where :func:`training_size` is 0.
        kind: of the index.
        count: of the vectors that it is to hold.
        threads: how many FAISS may use.
    """
    faiss.omp_set_num_threads(threads)
    engine = _new(kind, count, sample.shape[1])
    if not engine.is_trained and len(sample):
        # Never fewer than the two vectors that one bit a part needs.
        engine.train(np.resize(sample, (max(len(sample), 2), sample.shape[1])))
    return engine


def save_trained(engine: Any, folder: Path) -> None:
    """Write what :func:`train` gave into an existing folder."""
    faiss.write_index(engine, str(folder / "trained.faiss"))


def load_trained(folder: Path) -> Any:
    """Read what :func:`save_trained` wrote.

    Raises:
        IntegrityError: it is not readable.
    """
    path = folder / "trained.faiss"
    try:
        return faiss.read_index(str(path))
    except RuntimeError as error:
        raise read_error(error, path, "not a readable vector index", "build the index again") from error


def _new(kind: str, count: int, dimension: int) -> Any:
    inner = faiss.METRIC_INNER_PRODUCT
    if kind == "flat":
        return faiss.IndexFlatIP(dimension)
    if kind == "hnsw":
        graph = faiss.IndexHNSWFlat(dimension, 32, inner)
        graph.hnsw.efConstruction = 100
        return graph
    lists = _lists(count)
    coarse = faiss.IndexFlatIP(dimension)
    if kind == "ivf":
        eight_bits = faiss.ScalarQuantizer.QT_8bit
        index = faiss.IndexIVFScalarQuantizer(coarse, dimension, lists, eight_bits, inner)
    else:
        divisors = [m for m in range(1, dimension + 1) if dimension % m == 0]
        parts = min(divisors, key=lambda m: (abs(dimension / m - 4), -m))
        bits = int(np.clip(math.log2(max(count / 39, 2)), 1, 8))
        index = faiss.IndexIVFPQ(coarse, dimension, lists, parts, bits, inner)
    index.cp.spherical = True
    return index


def _lists(count: int) -> int:
    """FAISS asks for 39 training vectors a list; 4 sqrt(N) lists balance the search of lists and within them."""
    return int(max(1, min(4 * math.sqrt(count), count / 39)))


def _raw_vectors(folder: Path, settings: dict[str, Any]) -> NDArray[np.float32]:
    """(N, d) the vectors of a saved index as they were given."""
    return (
        _flat_vectors(folder, settings) if settings["kind"] == "flat" else load_array(folder / "vectors.npy")
    )


def _flat_vectors(folder: Path, settings: dict[str, Any]) -> NDArray[np.float32]:
    """(N, d) the vectors in FAISS's file of an exact index, which ends with them."""
    shape = (int(settings["count"]), int(settings["dimension"]))
    file = folder / "index.faiss"
    offset = file.stat().st_size - 4 * shape[0] * shape[1]
    if offset < 0:
        raise ValueError(f"{file.stat().st_size} bytes are too few for {shape[0]} vectors")
    if not shape[0] * shape[1]:
        return np.zeros(shape, np.float32)
    return np.memmap(file, np.float32, "r", offset, shape)


def _sample(vectors: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Some of the vectors, in their order."""
    if len(vectors) <= size:
        return vectors
    return vectors[np.sort(np.random.default_rng(0).choice(len(vectors), size, replace=False))]


def _add(engine: Any, vectors: NDArray[np.float32]) -> None:
    for start in range(0, len(vectors), CHUNK):
        engine.add(np.ascontiguousarray(vectors[start : start + CHUNK]))


def _probes(count: int, lists: int, wanted: int) -> int:
    """The number of lists to search: a sixteenth, at least 16, and enough to hold ``16 * wanted`` vectors."""
    needed = math.ceil(16 * wanted * lists / max(count, 1))
    return int(min(lists, max(16, lists // 16, needed)))


def _to_gpu(engine: Any, kind: str) -> Any:
    """A copy on the first GPU, where FAISS was built for GPUs, there is one, and it knows this kind; else None."""
    if kind == "hnsw" or not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        return None
    return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, engine)
