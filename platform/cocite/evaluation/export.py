"""An evaluation task as files that public tools read: documents, queries and relevance judgements.

Two layouts, each in a folder that is an artifact:

===========  ==================================================  ===============================================
file         ``beir``                                            ``tsv``
===========  ==================================================  ===============================================
documents    ``corpus.jsonl``: ``_id``, ``title``, ``text``      ``documents.tsv``: id, title and abstract
queries      ``queries.jsonl``: ``_id``, ``text``, ``metadata``  ``queries.tsv``: id, text
judgements   ``qrels/SPLIT.tsv``, with a head line               ``qrels/SPLIT.qrels``, as trec_eval reads them
own papers   ``metadata.paper`` of each query                    ``own-papers.tsv``: query, paper
===========  ==================================================  ===============================================

BEIR and MTEB read the first, ir_datasets, Anserini and PyTerrier the second. Both hold what ``cocite evaluate``
measures with: all papers are candidates, and whoever ranks them leaves out each query's own paper.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, cast

import numpy as np

from cocite.artifacts import publish
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.baselines import GLOBAL_FORM, LOCAL_FORM
from cocite.evaluation.tasks import EvalTask
from cocite.evaluation.trec import check_id
from cocite.manifests import MANIFEST, read_manifest
from cocite.protocols import Query
from cocite.retrieval.query_forms import QueryForm, query_texts

KIND = "corpus-export"
BLOCK = 1024
"""Papers or queries written at a time; bounds the memory."""
Layout = Literal["beir", "tsv"]
ExportForm = Literal["title", "title+abstract", "context", "context+title", "context+title+abstract"]
"""The forms of a query that need no word statistics."""


@dataclass(frozen=True)
class ExportOptions:
    """What is exported, and how.

    Example:
        >>> ExportOptions(task="global").query_form
        <QueryForm.TITLE_ABSTRACT: 'title+abstract'>
    """

    task: str = "local"
    """One of :data:`cocite.evaluation.tasks.TASKS`."""
    splits: Sequence[str] = ("test",)
    """The splits whose papers ask, each with judgements of its own."""
    layout: Layout = "beir"
    form: ExportForm | None = None
    """Which of a query's texts are written; None: those that the BM25 of ``cocite evaluate`` matches."""
    sample: int | None = None
    """Number of queries of each split; None: all."""
    seed: int = 0
    """Seed of the query sample."""
    packed: bool = False
    """Whether documents and queries are compressed with gzip; judgements never are, because no tool expects it."""

    @property
    def query_form(self) -> QueryForm:
        """The form of the queries' texts."""
        return QueryForm(self.form or (LOCAL_FORM if self.task == "local" else GLOBAL_FORM))


def export(
    corpus: Corpus,
    to: str | Path,
    options: ExportOptions | None = None,
    *,
    replace: bool = False,
    advance: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """Write a task's candidates, queries and judgements; a query and its judgements are in memory for a block alone.

    Args:
        corpus: with a split.
        to: the folder to make.
        options: the task and the layout.
        replace: whether it may take the place of an earlier export.
        advance: receives the number of papers and queries written.

    Returns:
        The number of ``documents``, and by split those of ``queries`` and ``judgements``.

    Raises:
        InputError: there is no such task or split, an id cannot stand in such a file, a query has no text in the form
            asked for, or something is at ``to`` that may not be replaced.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     counts = export(starter_corpus(), Path(folder, "beir"), ExportOptions("global", ("dev", "test")))
        ...     names = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.*"))
        >>> counts["documents"], counts["queries"]
        (423, {'dev': 74, 'test': 99})
        >>> names
        ['beir/corpus.jsonl', 'beir/manifest.json', 'beir/qrels/dev.tsv', 'beir/qrels/test.tsv', 'beir/queries.jsonl']
    """
    options = options or ExportOptions()
    to = Path(to)
    _refuse_other_artifact(to)
    built = {
        split: tasks.build(corpus, options.task, split, sample=options.sample, seed=options.seed)
        for split in dict.fromkeys(options.splits)
    }
    meta: dict[str, Any] = {
        "corpus": corpus.version,
        "layout": options.layout,
        "task": options.task,
        "form": str(options.query_form),
        "sample": options.sample,
        "seed": options.seed,
    }
    with publish(to, kind=KIND, meta=meta, replace=replace) as folder:
        writer = (_Beir if options.layout == "beir" else _Tsv)(folder, packed=options.packed)
        counts: dict[str, Any] = {"documents": len(corpus), "queries": {}, "judgements": {}}
        with writer:
            _write_documents(writer, corpus, advance)
            for split, task in built.items():
                with writer.split(split):
                    counts["judgements"][split] = _write_queries(writer, task, options.query_form, advance)
                counts["queries"][split] = len(task)
        meta["counts"] = counts
    return counts


def _refuse_other_artifact(folder: Path) -> None:
    """Refuse a folder that is an artifact but no export, so that --replace never costs a corpus or a model."""
    if (folder / MANIFEST).is_file() and (kind := read_manifest(folder).kind) != KIND:
        raise InputError(
            f"is a {kind}, not an export, and is not replaced",
            where=str(folder),
            hint="choose another folder",
        )


def _write_documents(writer: _Writer, corpus: Corpus, advance: Callable[[int], object]) -> None:
    for first in range(0, len(corpus), BLOCK):
        rows = np.arange(first, min(first + BLOCK, len(corpus)))
        columns = (corpus.papers.take(name, rows) for name in ("id", "title", "abstract"))
        for id_, title, abstract in zip(*columns, strict=True):
            writer.document(check_id(id_, "paper id"), title, abstract)
        advance(len(rows))


def _write_queries(writer: _Writer, task: EvalTask, form: QueryForm, advance: Callable[[int], object]) -> int:
    """Write a task's queries and judgements; returns the number of judgements."""
    judgements = 0
    for first in range(0, len(task), BLOCK):
        queries = task.queries[first : first + BLOCK]
        papers = task.corpus.ids([query.paper for query in queries])
        texts = query_texts(queries, form)
        owner, rows = task.relevant.gather(np.arange(first, first + len(queries)))
        relevant: list[list[str]] = [[] for _ in queries]
        for position, id_ in zip(owner.tolist(), task.corpus.ids(rows), strict=True):
            relevant[position].append(id_)
        for query, paper, text, ids in zip(queries, papers, texts, relevant, strict=True):
            if not text.strip():
                raise InputError(
                    f"the query {query.id!r} has no text of the form {form}",
                    where="--form",
                    hint="name a form that all queries have",
                )
            check_id(query.id, "query id")
            writer.query(query, paper, text)
            for id_ in ids:
                writer.judgement(query.id, id_)
        judgements += len(rows)
        advance(len(queries))
    return judgements


class _Writer:
    """The open files of an export."""

    documents: str
    queries: str

    def __init__(self, folder: Path, *, packed: bool) -> None:
        self.folder, self.packed = folder, packed
        self._stack = ExitStack()
        self._qrels: IO[str]

    def __enter__(self) -> _Writer:
        self._documents, self._queries = self.file(self.documents), self.file(self.queries)
        (self.folder / "qrels").mkdir()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def file(self, name: str) -> IO[str]:
        """Open a file that is compressed if the export is, and closed when it ends."""
        path = self.folder / (f"{name}.gz" if self.packed else name)
        return self._stack.enter_context(_text_file(path))

    @contextmanager
    def split(self, name: str) -> Iterator[None]:
        """Open the judgements of a split for the time of the body."""
        with _text_file(self.folder / "qrels" / self.qrels_name(name)) as self._qrels:
            self.head()
            yield

    def qrels_name(self, split: str) -> str:
        """The name of the file of a split's judgements."""
        raise NotImplementedError

    def head(self) -> None:
        """Write what comes before the first judgement."""

    def document(self, id_: str, title: str, abstract: str) -> None:
        """Write a paper."""
        raise NotImplementedError

    def query(self, query: Query, paper: str, text: str) -> None:
        """Write a query, its own paper's id and its text."""
        raise NotImplementedError

    def judgement(self, query: str, paper: str) -> None:
        """Write that a paper is relevant to a query."""
        raise NotImplementedError


class _Beir(_Writer):
    documents, queries = "corpus.jsonl", "queries.jsonl"

    def qrels_name(self, split: str) -> str:
        return f"{split}.tsv"

    def head(self) -> None:
        self._qrels.write("query-id\tcorpus-id\tscore\n")

    def document(self, id_: str, title: str, abstract: str) -> None:
        self._documents.write(_json({"_id": id_, "title": title, "text": abstract}))

    def query(self, query: Query, paper: str, text: str) -> None:
        self._queries.write(
            _json({"_id": query.id, "text": text, "metadata": {"paper": paper, "year": query.year}})
        )

    def judgement(self, query: str, paper: str) -> None:
        self._qrels.write(f"{_csv_field(query)}\t{_csv_field(paper)}\t1\n")


class _Tsv(_Writer):
    documents, queries = "documents.tsv", "queries.tsv"

    def __enter__(self) -> _Writer:
        super().__enter__()
        self._own = self.file("own-papers.tsv")
        return self

    def qrels_name(self, split: str) -> str:
        return f"{split}.qrels"

    def document(self, id_: str, title: str, abstract: str) -> None:
        self._documents.write(f"{id_}\t{_one_line(title, abstract)}\n")

    def query(self, query: Query, paper: str, text: str) -> None:
        self._queries.write(f"{query.id}\t{_one_line(text)}\n")
        self._own.write(f"{query.id}\t{paper}\n")

    def judgement(self, query: str, paper: str) -> None:
        self._qrels.write(f"{query} 0 {paper} 1\n")


def _json(value: dict[str, Any]) -> str:
    # As ASCII: an imported text may hold half of a surrogate pair, which UTF-8 cannot.
    return json.dumps(value) + "\n"


def _csv_field(id_: str) -> str:
    """An id as BEIR reads it, by rules of CSV: a quotation mark would begin a field that ends at the next one."""
    doubled = id_.replace('"', '""')
    return f'"{doubled}"' if '"' in id_ else id_


def _one_line(*texts: str) -> str:
    return " ".join(word for text in texts for word in text.split())


@contextmanager
def _text_file(path: Path) -> Iterator[IO[str]]:
    with path.open("wb") as raw:
        # No time stamp and no name in the header: the same export is the same file.
        packed = gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else None
        with io.TextIOWrapper(
            cast(BinaryIO, packed or raw), encoding="utf-8", errors="replace", newline="\n"
        ) as file:
            yield file
