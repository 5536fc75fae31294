"""Papers' vectors that were computed beforehand, in blocks of rows that are memory-mapped one by one.

``cocite embed`` writes them: a folder for each encoder, an artifact of its own.

| entry | holds |
| --- | --- |
| ``000000.npy``, ``000001.npy``, … | (rows, d) vectors of consecutive papers, float32 or float16 |
| ``manifest.json`` | corpus, encoder, dimension, rows of a block, and each block's SHA-256 |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import MANIFEST, Manifest
from cocite.protocols import Encoder, Query
from cocite.verification import open_verified_once

KIND = "paper-vectors"
"""The kind of the artifact in its manifest."""
MAPPED = 64
"""Blocks that stay mapped at a time, each with an open file."""


def block_name(number: int) -> str:
    """The file of a block.

    Example:
        >>> block_name(7)
        '000007.npy'
    """
    return f"{number:06d}.npy"


@dataclass(frozen=True)
class StoredVectors:
    """The vectors of all papers of a corpus by one encoder; a :class:`~cocite.protocols.PaperVectors`.

    In an index build it takes the encoder's place (:class:`~cocite.protocols.Encoder`), as long as no query is encoded.

    Attributes:
        path: the artifact.
        name: of the encoder.
        id: of the encoder.
        dimension: d.
        corpus: version of the corpus.
        rows: papers.
        block: papers of each block but the last.

    Example:
        >>> import tempfile
        >>> from cocite.artifacts import publish
        >>> meta = {"corpus": "12ab", "encoder": "nnselect", "encoder_id": "34cd", "dimension": 2, "rows": 3,
        ...     "block": 2, "dtype": "float16", "bodies": False}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with publish(Path(folder, "nnselect"), kind=KIND, meta=meta) as files:
        ...         np.save(files / "000000.npy", np.float16([[1, 0], [0, 1]]))
        ...         np.save(files / "000001.npy", np.float16([[-1, 0]]))
        ...     vectors = StoredVectors.open(Path(folder, "nnselect"))
        ...     len(vectors), vectors[np.array([2, 0])].tolist()
        (3, [[-1.0, 0.0], [1.0, 0.0]])
    """

    path: Path
    name: str
    id: str
    dimension: int
    corpus: str
    rows: int
    block: int
    manifest: Manifest = field(repr=False, compare=False)

    @classmethod
    def open(cls, folder: Path) -> StoredVectors:
        """Open an artifact; the first time on a machine, every block is compared with its SHA-256.

        Raises:
            NotFoundError: there is no such artifact.
            InputError: it is of another kind.
            IntegrityError: a block is damaged or missing.
        """
        manifest = open_verified_once(folder, kind=KIND)
        meta = manifest.meta
        try:
            values: dict[str, Any] = {
                "name": str(meta["encoder"]),
                "id": str(meta["encoder_id"]),
                "dimension": int(meta["dimension"]),
                "corpus": str(meta["corpus"]),
                "rows": int(meta["rows"]),
                "block": int(meta["block"]),
            }
            blocks = -(-max(values["rows"], 1) // values["block"])
            if lacking := {block_name(number) for number in range(blocks)} - manifest.files.keys():
                raise ValueError(f"{len(lacking)} of {blocks} blocks are missing")
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise IntegrityError(
                f"the manifest does not describe vectors: {error}", where=str(folder)
            ) from error
        return (StoredBodyVectors if meta.get("bodies") else cls)(folder, manifest=manifest, **values)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        """(k, d) vectors of some rows.

        Raises:
            IntegrityError: a block is not what the manifest says.
        """
        rows = np.asarray(rows)
        result = np.empty((len(rows), self.dimension), np.float32)
        numbers = rows // self.block
        for number in np.unique(numbers).tolist():
            here = np.flatnonzero(numbers == number)
            result[here] = self._map(number)[rows[here] - number * self.block]
        return result

    def _map(self, number: int) -> NDArray[Any]:
        count = min(self.block, self.rows - number * self.block)
        name = block_name(number)
        # The digest, so that a block in the place of another is mapped anew.
        return _mapped(self.path / name, (count, self.dimension), self.manifest.files[name]["sha256"])

    # -- in an encoder's place ---------------------------------------------------------------------------------

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) vectors of some papers.

        Raises:
            InputError: these are the vectors of another corpus.
        """
        self.check_corpus(corpus)
        return self[rows]

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """Refused: stored vectors are of papers alone.

        Raises:
            InputError: always.
        """
        raise InputError(
            f"holds vectors of papers, and encodes no query ({len(queries)} asked)",
            where=str(self.path),
            hint=f"load the encoder {self.name}",
        )

    def check_corpus(self, corpus: Corpus) -> None:
        """Refuse a corpus whose papers these are not.

        Raises:
            InputError: the vectors were made of another one.
        """
        if (self.corpus, self.rows) != (corpus.version, len(corpus)):
            raise InputError(
                f"holds vectors of the papers of corpus {self.corpus}, not of {corpus.version}",
                where=str(self.path),
                hint="embed this corpus: cocite embed CORPUS --model MODEL --to FOLDER",
            )

    def check_encoder(self, encoder: Encoder) -> None:
        """Refuse an encoder that did not make these vectors.

        Raises:
            InputError: another one of its name did.
        """
        if self.id != encoder.id:
            raise InputError(
                f"holds vectors of another {self.name} ({self.id}) than the model's ({encoder.id})",
                where=str(self.path),
                hint="embed the corpus with this model, or give the model that made the vectors",
            )


class StoredBodyVectors(StoredVectors):
    """Vectors of an encoder that reads body sentences, which an index of them keeps for its queries.

    Example:
        >>> from cocite.protocols import BodyReader
        >>> manifest = Manifest(KIND, {}, {})
        >>> vectors = StoredBodyVectors(Path(), "mp-bert4cr", "34cd", 2, "12ab", 0, 2, manifest)
        >>> isinstance(vectors, BodyReader)
        True
    """

    def reading(self, corpus: Corpus) -> StoredBodyVectors:  # noqa: ARG002
        """The same vectors."""
        return self


def open_stored_vectors(folder: Path) -> list[StoredVectors]:
    """Open the vectors that a folder holds: one artifact, or a folder of one for each encoder.

    Raises:
        NotFoundError: it holds none.
        CociteError: one is damaged, or of another kind.
    """
    if not folder.is_dir():
        raise NotFoundError("no such folder", where=str(folder))
    if (folder / MANIFEST).is_file():
        return [StoredVectors.open(folder)]
    inside = sorted(path for path in folder.iterdir() if (path / MANIFEST).is_file())
    if not inside:
        raise NotFoundError(
            "holds no vectors",
            where=str(folder),
            hint="make them: cocite embed CORPUS --model MODEL --to FOLDER",
        )
    return [StoredVectors.open(path) for path in inside]


def with_stored_vectors(
    encoders: Sequence[Encoder], stored: Sequence[StoredVectors], corpus: Corpus
) -> list[Encoder]:
    """The encoders of an index build, of which those that have stored vectors are replaced by these.

    Args:
        encoders: of a model; may be none.
        stored: vectors, which need no encoder of the model.
        corpus: to index.

    Raises:
        InputError: vectors are of another corpus, or another encoder of that name made them.
    """
    by_name = {encoder.name: encoder for encoder in encoders}
    for vectors in stored:
        vectors.check_corpus(corpus)
        if vectors.name in by_name:
            vectors.check_encoder(by_name[vectors.name])
    return list((by_name | {vectors.name: vectors for vectors in stored}).values())


@lru_cache(maxsize=MAPPED)
def _mapped(path: Path, shape: tuple[int, int], digest: str) -> NDArray[Any]:  # noqa: ARG001
    array = load_array(path)
    if array.shape != shape or array.dtype.kind != "f":
        raise IntegrityError(f"holds {array.shape} {array.dtype}, not {shape} vectors", where=str(path))
    return array
