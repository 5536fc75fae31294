"""Machines that share nothing, and a store with records and what the steps after an import read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.corpus.splits import by_year_name
from cocite.pipeline.components import load_encoders
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite_jobs.steps.embedding.embed import embed_corpus
from helpers.shared_nothing import Cluster, shared_nothing
from helpers.topic_corpus import write_records
from helpers.untrained_encoders import untrained_encoders

PAPERS = 160
CORPUS, MODEL, INDEX, VECTORS, QUERIES = (
    f"s3://bucket/given/{name}" for name in ("corpus", "model", "index", "vectors", "queries.jsonl")
)


@contextmanager
def machines_of(folder: Path) -> Iterator[Cluster]:
    """Machines whose store has records and, made here, what later steps read: so every row runs by itself."""
    write_records(folder / "records", PAPERS, files=3)
    given = folder / "given"
    corpus = build(open_source(folder / "records"), given / "corpus", split=by_year_name(2009, 2010))
    model = untrained_encoders(corpus, given / "model")
    ShardedIndex.create(corpus, given / "index", shards=4, encoders=load_encoders(model))
    embed_corpus(corpus.path, model, given / "vectors")
    lines = ({"id": f"q{row}", "title": corpus.paper(row).title} for row in range(0, PAPERS, 5))
    (given / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    program = f"""
from pathlib import Path
from cocite_jobs.storage.location import Location
given = Path({str(given)!r})
files = sorted(path.relative_to(given).as_posix() for path in given.rglob("*") if path.is_file())
Location.of("s3://bucket/given").upload(given, files)
"""
    with shared_nothing(folder) as running:
        uploaded = running.desk.run([sys.executable, "-c", program])
        assert uploaded.returncode == 0, uploaded.stderr
        for machine in running.workers:
            machine.environment["RAY_AUTH_MODE"] = "token"
        yield running
