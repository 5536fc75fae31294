"""Builds a corpus store from a stream of records, in memory that does not grow with the texts or the links.

Papers go to disk batch by batch; their row is the order they come in. Links, contexts and sentences may come before
or after the papers they name: they are spilled with 64-bit hashes of the ids and resolved at the end. What grows with
the corpus is a table of ids (16 bytes a paper, twice that while runs are merged), the years (2), degrees and offsets
(at most 28 at a time), and 8 bytes a context to find repeated ids.
"""

from __future__ import annotations

import itertools
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cocite.artifacts import publish
from cocite.corpus.cleaning import Cleaner
from cocite.corpus.finish import Finisher
from cocite.corpus.idtable import HashSet, IdTable
from cocite.corpus.records import (
    PAPERS,
    SPLITS,
    CitationRecord,
    ContextRecord,
    PaperRecord,
    Record,
    SentenceRecord,
    UnknownFields,
)
from cocite.corpus.rules import Limits, Place, Tally
from cocite.corpus.spill import BatchWriter, PairFile, SpillWriter, read_batches
from cocite.corpus.store import KIND, Corpus, id_hash
from cocite.corpus.streams import FromFile, Placed
from cocite.corpus.texts import CHUNK, CONTEXT_SPILL, SENTENCE_SPILL
from cocite.destinations import check_artifact_destination
from cocite.errors import InputError
from cocite.locks import locked_for_writing

PENDING = 2048
"""Papers held until their ids are looked up together."""
HASHED = np.dtype([("citing", "<u8"), ("cited", "<u8")])
SKETCH = 8192
"""Cited ids kept in words, so that unknown ones can be named."""


class StoreBuilder:
    """Takes records one by one and writes a store's files into a folder.

    Args:
        folder: an empty folder.
        tally: counts what the rules find.
        limits: what a field may hold.
        split: gives a paper's split by its year, over what the source says.
        links_from_contexts: make a citation of each (citing, cited) of a context; ``None``: when the source
            gives no links of its own.
        base: a store whose papers, links and texts come first, under their present rows.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tally: Tally | None = None,
        limits: Limits | None = None,
        split: Callable[[int], str] | None = None,
        links_from_contexts: bool | None = None,
        base: Corpus | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.scratch = self.folder / ".scratch"
        self.scratch.mkdir(parents=True)
        self.tally = tally or Tally()
        self.limits = limits or Limits()
        self.links_from_contexts = links_from_contexts
        self.base = base
        self.old = len(base) if base is not None else 0
        self.table = IdTable()
        self.years = array("h")
        self.files: list[str] = []
        self.papers = BatchWriter(self.folder / "papers.arrow", PAPERS)
        self.links = PairFile(self.scratch / "links.pairs", HASHED)
        self.contexts = SpillWriter(self.scratch / "contexts.spill", CONTEXT_SPILL)
        self.sentences = SpillWriter(self.scratch / "sentences.spill", SENTENCE_SPILL)
        self.sketch: dict[int, tuple[str, str, str, int]] = {}
        self._sketch_below = 1 << 64
        self._split = split
        self._cleaner = Cleaner(self.limits, self.tally)
        self._pending: list[tuple[PaperRecord, str, int]] = []
        self._citing, self._cited = array("Q"), array("Q")
        self._contexts: dict[str, list[Any]] = {name: [] for name in CONTEXT_SPILL.names}
        self._sentences: dict[str, list[Any]] = {name: [] for name in SENTENCE_SPILL.names}
        self._context_ids = HashSet()
        self._numbers: dict[str, int] = {}
        self._file = ("", -1)
        self._last_hash = ("", 0)
        if base is not None:
            self._copy_papers(base)

    # -- records --------------------------------------------------------------------------------------------

    def add(self, record: Record, place: Place) -> None:
        """Take one record; ``place`` may change after the call."""
        try:
            if isinstance(record, SentenceRecord):
                self._add_sentence(record, place)
            elif isinstance(record, CitationRecord):
                self._add_link(record.citing.strip(), record.cited.strip(), place)
            elif isinstance(record, ContextRecord):
                self._add_context(record, place)
            elif isinstance(record, PaperRecord):
                self._add_paper(record, place)
            elif isinstance(record, UnknownFields):
                self.tally.unknown(record.kind, record.names, place, record.count)
            else:
                self.tally.hit(
                    record.rule, record.reason, place, field=record.field, excerpt=record.excerpt[:200]
                )
                self.tally.add(record.rule, record.count - 1)
        except InputError:
            # A paper whose id is a repeated one may still wait to be looked up: it stands earlier in the source.
            self._flush_papers()
            raise

    def _add_paper(self, record: PaperRecord, place: Place) -> None:
        if self._cleaner.paper(record, place):
            self._pending.append((record, place.file, place.line))
            if len(self._pending) >= PENDING:
                self._flush_papers()

    def _flush_papers(self) -> None:
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        new = self.table.add([record.id for record, _, _ in pending]).tolist()
        for (record, file, line), is_new in zip(pending, new, strict=True):
            if not is_new:
                reason = "an earlier paper has this id; the first is kept"
                self.tally.hit("duplicate_id", reason, Place(file, line), field="id", id=record.id)
        kept = [entry for entry, is_new in zip(pending, new, strict=True) if is_new]
        records = [record for record, _, _ in kept]
        self.years.extend(record.year for record in records)
        codes = [SPLITS.index(self._split(r.year) if self._split else r.split) for r in records]
        columns: list[Any] = [[getattr(r, name) for r in records] for name in PAPERS.names[:-1]]
        arrays = [
            pa.array(values, field.type) for values, field in zip([*columns, codes], PAPERS, strict=True)
        ]
        self.papers.write(pa.RecordBatch.from_arrays(arrays, schema=PAPERS))
        for record, file, line in kept:
            place = Place(file, line)
            for cited in record.citations:
                self._add_link(record.id, cited.strip(), place)

    def _add_link(self, citing: str, cited: str, place: Place) -> None:
        if not cited or not citing:
            self.tally.hit(
                "malformed", "a citation without an id", place, field="citations", id=citing or cited
            )
            return
        if cited == citing:
            self.tally.hit("self_citation", "the paper cites itself", place, id=citing)
            return
        source, target = self._hash(citing), id_hash(cited)
        self._citing.append(source)
        self._cited.append(target)
        if target < self._sketch_below and target not in self.sketch:
            # A bottom sketch: the ids with the smallest hashes are an even sample of all distinct ones.
            self.sketch[target] = (citing, cited, place.file, place.line)
            if len(self.sketch) > SKETCH:
                self._sketch_below = sorted(self.sketch)[SKETCH // 2]
                self.sketch = {key: value for key, value in self.sketch.items() if key < self._sketch_below}
        if len(self._citing) >= CHUNK:
            self._flush_links()

    def _flush_links(self) -> None:
        if len(self._citing):
            self.links.write(np.array(self._citing, np.uint64), np.array(self._cited, np.uint64))
            self._citing, self._cited = array("Q"), array("Q")

    def _add_context(self, record: ContextRecord, place: Place) -> None:
        if not self._cleaner.context(record, place):
            return
        members = dict.fromkeys(text.strip() for text in record.cited)
        if record.citing in members:
            self.tally.hit("self_citation", "a context cites its own paper", place, id=record.id)
            del members[record.citing]
        values: dict[str, Any] = {
            "citing": self._hash(record.citing.strip()),
            "cited": [id_hash(text) for text in members],
            "id": record.id,
            "text": record.text,
            "sentence": record.sentence,
            "section": record.section,
            "group": record.group,
            "unresolved": record.unresolved,
            "file": self._file_number(place.file),
            "line": place.line,
        }
        for name, column in self._contexts.items():
            column.append(values[name])
        if self.tally.strict or len(self._contexts["id"]) >= CHUNK:
            self._flush_contexts()

    def _flush_contexts(self) -> None:
        if not self._contexts["id"]:
            return
        batch = pa.RecordBatch.from_pydict(self._contexts, schema=CONTEXT_SPILL)
        new = self._context_ids.add(IdTable.hashes(self._contexts["id"]))
        for i in np.flatnonzero(~new).tolist():
            place = Place(self.files[self._contexts["file"][i]], self._contexts["line"][i])
            reason = "an earlier context has this id; the first is kept"
            self.tally.hit("duplicate_context", reason, place, field="id", id=self._contexts["id"][i])
        self.contexts.write(batch if new.all() else batch.filter(pa.array(new)))
        self._contexts = {name: [] for name in self._contexts}

    def _add_sentence(self, record: SentenceRecord, place: Place) -> None:
        if not self._cleaner.sentence(record, place):
            return
        columns = self._sentences
        columns["paper"].append(self._hash(record.paper))
        columns["position"].append(record.position)
        columns["section"].append(record.section)
        columns["text"].append(record.text)
        columns["file"].append(self._file_number(place.file))
        columns["line"].append(place.line)
        if len(columns["text"]) >= CHUNK:
            self._flush_sentences()

    def _flush_sentences(self) -> None:
        if self._sentences["text"]:
            self.sentences.write(pa.RecordBatch.from_pydict(self._sentences, schema=SENTENCE_SPILL))
            self._sentences = {name: [] for name in self._sentences}

    def _hash(self, id_: str) -> int:
        # The texts and links of one paper mostly come together.
        if id_ != self._last_hash[0]:
            self._last_hash = (id_, id_hash(id_))
        return self._last_hash[1]

    def _file_number(self, file: str) -> int:
        if file != self._file[0]:
            number = self._numbers.setdefault(file, len(self._numbers))
            if number == len(self.files):
                self.files.append(file)
            self._file = (file, number)
        return max(self._file[1], 0) if self.files else self._first_file()

    def _first_file(self) -> int:
        self.files.append("")
        self._numbers[""] = 0
        return 0

    # -- base and end ---------------------------------------------------------------------------------------

    def _copy_papers(self, base: Corpus) -> None:
        for batch in read_batches(base.path / "papers.arrow"):
            self.table.add(batch.column("id").to_pylist())
            self.papers.write(batch)
        self.years.frombytes(np.ascontiguousarray(base.years, np.int16).tobytes())
        for batch in read_batches(base.path / "contexts.arrow", ["id"]):
            self._context_ids.add(IdTable.hashes(batch.column(0).to_pylist()))

    def finish(self, on_step: Callable[[str], None] | None = None) -> dict[str, Any]:
        """Resolve and order what was spilled; returns the counts. The folder then holds a store, unsealed."""
        self._flush_papers()
        self._flush_links()
        self._flush_contexts()
        self._flush_sentences()
        self.papers.close()
        self.contexts.close()
        self.sentences.close()
        self._context_ids = HashSet()
        self.table.compact()
        counts = Finisher(self, on_step or (lambda _: None)).run()
        shutil.rmtree(self.scratch)
        return counts


def build(
    records: Iterable[Record],
    destination: str | Path,
    *,
    limits: Limits | None = None,
    strict: bool = False,
    rejects: str | Path | None = None,
    split: Callable[[int], str] | None = None,
    links_from_contexts: bool | None = None,
    base: Corpus | None = None,
    replace: bool = False,
    meta: dict[str, Any] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Corpus:
    """Build and publish a store: it appears whole, or not at all.

    Args:
        records: papers, citations, contexts and sentences in any order; a :class:`Placed` stream tells where each
            stands in its source.
        destination: the folder to make.
        limits: what a field may hold.
        strict: stop at the first bad record.
        rejects: file for what is rejected or dropped; removed again when there is nothing to say.
        split: gives a paper's split by its year.
        links_from_contexts: see :class:`StoreBuilder`.
        base: a store that comes first.
        replace: put the new store in the place of an existing one.
        meta: further entries for the manifest, such as the source's name and format.
        on_step: called with the name of each step after the last record.

    Raises:
        InputError: a bad record in a strict import, a source without a paper that can be kept, or an existing
            destination.
    """
    destination = Path(destination)
    check_artifact_destination(destination, replace=replace)
    description: dict[str, Any] = dict(meta or {})
    with ExitStack() as stack:
        stack.enter_context(exclusive(destination))
        tally = stack.enter_context(Tally(strict=strict, rejects=Path(rejects) if rejects else None))
        folder = stack.enter_context(publish(destination, kind=KIND, meta=description, replace=replace))
        description |= fill(
            records,
            folder,
            tally=tally,
            limits=limits,
            split=split,
            links_from_contexts=links_from_contexts,
            base=base,
            on_step=on_step,
        )
        if isinstance(records, FromFile) and description["counts"]["papers"] == len(base or ()):
            hint = f"see {rejects}" if rejects else None
            raise InputError(
                f"no {'new ' if base else ''}paper can be kept: {tally.why_empty()}",
                where=str(records.path),
                hint=hint if tally.rejected else "a paper needs an id and a title",
            )
    return Corpus.open(destination, verified=True)


def fill(
    records: Iterable[Record],
    folder: Path,
    *,
    tally: Tally,
    limits: Limits | None = None,
    split: Callable[[int], str] | None = None,
    links_from_contexts: bool | None = None,
    base: Corpus | None = None,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Write a store's files into an empty folder, unsealed.

    Returns:
        For its manifest: ``counts``, ``samples`` of the rules' hits, and ``unknown_fields`` with their counts.
    """
    builder = StoreBuilder(
        folder, tally=tally, limits=limits, split=split, links_from_contexts=links_from_contexts, base=base
    )
    if isinstance(records, Placed):
        for record in records:
            builder.add(record, records.place)
    else:
        place = Place("record")
        for number, record in zip(itertools.count(1), records, strict=False):
            place.line = number
            builder.add(record, place)
    counts = builder.finish(on_step)
    return {
        "counts": {**counts, "rules": tally.summary()},
        "samples": tally.samples,
        "unknown_fields": list(tally.unknown_fields.values()),
    }


@contextmanager
def exclusive(destination: Path) -> Iterator[None]:
    """Keep other imports away from a destination."""
    target = Path(os.path.realpath(destination))
    with locked_for_writing(target.with_name(f".{target.name}.lock"), destination):
        yield
