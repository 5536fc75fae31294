"""The parts of a data step: what each is made of, and which are made already."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cocite.errors import IntegrityError
from cocite_jobs.storage.location import Location

Result = dict[str, Any]
"""What making a part gave: small, of JSON's types."""


@dataclass(frozen=True)
class Part:
    """A share of a step's work that one process makes, and that is lost as a whole when it dies.

    Attributes:
        name: unique in its step; the name of a file.
        size: how much work it is, in the step's unit: papers, queries, bytes.
        arguments: what the work needs to know of it.

    Example:
        >>> Part("0003", 1000, {"first": 3000, "last": 4000}).size
        1000
    """

    name: str
    size: int
    arguments: Any = None


class Work(Protocol):
    """How the parts of a step are made. It travels to the workers, so it is small: paths and settings.

    It is a frozen dataclass: a worker opens each value of it once, whatever number of parts it makes.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> @dataclass(frozen=True)
        ... class CountWords:
        ...     def open(self) -> Callable[[Part], Result]:
        ...         papers = starter_corpus().papers
        ...         return lambda part: {"titles": len(papers.take("title", part.arguments))}
        >>> CountWords().open()(Part("0000", 2, range(2)))
        {'titles': 2}
    """

    def __hash__(self) -> int: ...

    def open(self) -> Callable[[Part], Result]:
        """Open what all parts need, such as a corpus and a model; returns the function that makes a part.

        That function writes its output whole before it returns: a file in place, or an upload. It may be called again
        for a part that was lost with its worker, and replaces what is there.
        """
        ...


@dataclass(frozen=True)
class FinishedParts:
    """The record of the finished parts of a step, one small file for each, so that a step that ended early goes on.

    Attributes:
        folder: holds the files; parts of another key there are not finished.
        key: what determines the parts' content, such as the ids of the corpus and the encoder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     finished = FinishedParts(Location.of(folder), "corpus 12ab")
        ...     finished.add(Part("0000", 10), {"rows": 10})
        ...     finished.read(), FinishedParts(Location.of(folder), "corpus 34cd").read()
        ({'0000': {'rows': 10}}, {})
    """

    folder: Location
    key: str

    def read(self) -> dict[str, Result]:
        """Results by the parts' names.

        Raises:
            IntegrityError: a file is damaged.
        """
        names = [name for name in self.folder.names() if name.endswith(".json") and not name.startswith(".")]
        records = map(self._parse, names, self.folder.read_each(names))
        return {
            name.removesuffix(".json"): record["result"]
            for name, record in zip(names, records, strict=True)
            if record["key"] == self.key
        }

    def add(self, part: Part, result: Mapping[str, Any]) -> None:
        """Record a part, whose output is in place."""
        self.folder.write(f"{part.name}.json", json.dumps({"key": self.key, "result": dict(result)}) + "\n")

    def _parse(self, name: str, content: bytes | None) -> dict[str, Any]:
        try:
            record = json.loads(content or b"")
            return {"key": record["key"], "result": dict(record["result"])}
        except (ValueError, KeyError, TypeError) as error:
            raise IntegrityError(
                "is no record of a finished part",
                where=(self.folder / name).uri,
                hint="remove it: the part is made again",
            ) from error
