"""Small corpora for the tests of the corpus."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.corpus.records import ContextRecord, PaperRecord, Record, SentenceRecord
from cocite.corpus.store import Corpus

WORKS = Path(__file__).resolve().parents[1] / "corpus" / "importers" / "data" / "openalex.jsonl"
"""Works as OpenAlex publishes them, one a line."""


def write_lines(path: Path, values: Iterable[Any]) -> Path:
    """A JSON-lines file; text is written as it is, so that a line may be broken."""
    text = "".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values)
    data = text.encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def paper(id_: str, *cites: str, year: int = 2000, **fields: Any) -> PaperRecord:
    """A paper whose title is its id."""
    return PaperRecord(
        id_, fields.pop("title", f"Title of {id_}"), year=year, citations=tuple(cites), **fields
    )


def tiny() -> list[Record]:
    """Four papers with links, two contexts and bodies, texts before their papers."""
    return [
        ContextRecord("c2", "d", ("a", "b", "c"), "left TARGETCIT right", sentence=1, group=1),
        SentenceRecord("d", 1, "second [[CIT:1]]"),
        paper("a", year=1999),
        paper("b", "a", year=2000, abstract="Naïve text", authors=("Ann Bo", "Cy Di"), keyphrases=("x", "y")),
        SentenceRecord("d", 0, "first", "Intro"),
        paper("c", "a", "b", year=2001, venue="V"),
        ContextRecord("c1", "b", ("a",), "one TARGETCIT"),
        paper("d", "a", "b", "c", year=2002, doi="10.1/x"),
        SentenceRecord("a", 0, "body of a"),
    ]


def make(path: Path, records: Iterable[Record] | None = None, **options: Any) -> Corpus:
    """A store of some records."""
    return build(tiny() if records is None else records, path / "store", **options)


def hits(corpus: Corpus) -> dict[str, int]:
    """Rule -> how often the import of a corpus hit it, without the rules that were not hit."""
    return {name: n for name, n in corpus.counts["rules"].items() if n}


def rejects(path: Path) -> list[dict[str, Any]]:
    """The entries of a rejects file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def records_of(path: Path, format: str | None = None) -> list[Any]:
    """All records of a source, malformed ones included."""
    return list(open_source(path, format))


def papers_of(path: Path) -> list[PaperRecord]:
    """The papers of a source."""
    return [record for record in records_of(path) if isinstance(record, PaperRecord)]


def version(source: Path, store: Path) -> str:
    """The version of the store that an import makes."""
    return build(open_source(source), store, replace=True).version


def unknown_fields(corpus: Corpus) -> dict[str, tuple[int, str, str]]:
    """Unknown field -> (count, first position, suggestion), as the manifest has them."""
    entries = corpus.manifest.meta["unknown_fields"]
    return {entry["field"]: (entry["count"], entry["first"], entry["suggestion"]) for entry in entries}


def openalex_works() -> list[dict[str, Any]]:
    """Works as OpenAlex publishes them."""
    return [json.loads(line) for line in WORKS.read_text(encoding="utf-8").splitlines()]
