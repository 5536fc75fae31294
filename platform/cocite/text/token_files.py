"""Lists of tokens as memory-mapped NumPy files, written a block at a time."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from cocite.array_files import ArrayWriter, require_fit, token_dtype
from cocite.artifacts import load_array
from cocite.text.token_lists import TokenLists


class TokenListWriter:
    """Writes lists of tokens to ``NAME.ids.npy``, ``NAME.starts.npy`` and ``NAME.counts.npy``.

    Args:
        folder: of the files.
        name: of the files.
        vocabulary: number of tokens that there are.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with TokenListWriter(Path(folder), "titles", vocabulary=100) as writer:
        ...         writer.add(TokenLists.of([[7, 8, 9], [5]]).head(2))
        ...         writer.add(TokenLists.of([[6]]))
        ...     titles = load_token_lists(Path(folder), "titles")
        >>> [titles[i].tolist() for i in range(len(titles))], titles.ids.dtype
        ([[7, 8], [5], [6]], dtype('uint16'))
    """

    def __init__(self, folder: Path, name: str, vocabulary: int) -> None:
        self._stack = ExitStack()
        self._ids, self._starts, self._counts = (
            self._stack.enter_context(ArrayWriter(Path(folder, f"{name}.{part}.npy"), dtype))
            for part, dtype in (("ids", token_dtype(vocabulary)), ("starts", "int64"), ("counts", "int32"))
        )

    @property
    def length(self) -> int:
        """Lists written so far."""
        return self._counts.length

    def __enter__(self) -> TokenListWriter:
        return self

    def add(self, lists: TokenLists) -> None:
        """Append lists; tokens that belong to none are left out."""
        kept = TokenLists.joined([lists])
        self._starts.add(self._ids.length + kept.starts)
        self._ids.add(kept.ids)
        self._counts.add(kept.counts)

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def load_token_lists(folder: Path, name: str) -> TokenLists:
    """The lists of a :class:`TokenListWriter`; all arrays are memory-mapped.

    Raises:
        IntegrityError: an array is missing, or does not fit the others.
    """
    ids, starts, counts = (load_array(folder / f"{name}.{part}.npy") for part in ("ids", "starts", "counts"))
    last = int(starts[-1]) + int(counts[-1]) if len(starts) and len(counts) else 0
    require_fit(len(starts) == len(counts) and last == len(ids), folder, of=name)
    return TokenLists(ids, starts, counts)
