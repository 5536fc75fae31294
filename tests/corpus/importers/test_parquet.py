from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.records import (
    records_of,
    unknown_fields,
)

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError


def test_unknown_columns_are_counted_and_citations_of_papers_are_read(tmp_path: Path) -> None:
    tables: dict[str, dict[str, Any]] = {
        "papers": {"id": ["a", "b"], "title": ["A", "B"], "citations": [[], ["a"]], "journal": ["J", None]},
        "contexts": {
            "id": [0],
            "citing": ["b"],
            "cited": [["a"]],
            "context": ["[CIT]"],
            "split": ["test"],
            "x": [1],
        },
        "sentences-0": {"id": ["b"], "position": [0.0], "text": ["s"], "page": [1]},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"citing": ["b"], "cited": ["a"]}), tmp_path / "citation.parquet")
    corpus = build(open_source(tmp_path), tmp_path / "store")
    assert unknown_fields(corpus) == {
        "journal": (2, "papers.parquet", "venue"),
        "x": (1, "contexts.parquet", ""),
        "page": (1, "sentences-0.parquet", ""),
    }
    assert corpus.cites[1].tolist() == [0]
    assert corpus.counts["rules"]["unread_file"] == 1
    assert corpus.manifest.meta["samples"]["unread_file"][0]["file"] == "citation.parquet"
    pq.write_table(
        pa.table({"id": ["b"], "position": [0], "text": [["s"]]}), tmp_path / "sentences-1.parquet"
    )
    with pytest.raises(InputError, match=r"sentences-1\.parquet: not a readable Parquet file"):
        build(open_source(tmp_path), tmp_path / "store", replace=True)


def parquet(folder: Path) -> Path:
    folder.mkdir()
    tables = {
        "papers": {
            "id": ["a", "b", "c"],
            "title": ["A", "B", None],
            "abstract": [None, "x", "y"],
            "year": [2009, 2010, 2011],
            "authors": [["N"], None, []],
            "venue": ["V", None, ""],
            "n_sentences": [0, 1, 0],
        },
        "citations": {"citing": ["b"], "cited": ["a"]},
        "contexts": {
            "id": [0, 1],
            "citing": ["b", "b"],
            "cited": [["a"], ["a", "c"]],
            "n_unresolved": [0, 2],
            "sentence": [5, 6],
            "group": [0, 1],
            "section": ["S", None],
            "context": ["t TARGETCIT", "u TARGETCIT"],
            "split": ["dev", "dev"],
        },
        "sentences-0": {
            "id": ["b"],
            "position": pa.array([5], pa.int32()),
            "section": ["S"],
            "text": ["t [[CIT:0]]"],
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


def test_parquet_folder(tmp_path: Path) -> None:
    path = parquet(tmp_path / "in")
    assert detect(path) == "parquet"
    corpus = build(open_source(path), tmp_path / "store")
    assert {name: n for name, n in corpus.counts["rules"].items() if n} == {
        "empty_title": 1,
        "context_unknown_cited": 1,
        "unknown_field": 3,
    }
    assert corpus.paper(1) == PaperRecord("b", "B", "x", 2010, split="dev", citations=("a",))
    assert corpus.paper(0).authors == ("N",)
    assert corpus.split.tolist() == [0, 2]
    assert corpus.contexts.take("unresolved", [0, 1]) == [0, 3]
    assert corpus.contexts.take("id", [0, 1]) == ["0", "1"]
    assert corpus.sentences.take("text", [0]) == ["t [[CIT:0]]"]


def test_parquet_mistakes_are_reported(tmp_path: Path) -> None:
    path = parquet(tmp_path / "in")
    pq.write_table(pa.table({"citing": ["a"]}), path / "citations.parquet")
    with pytest.raises(InputError, match=r"citations\.parquet: lacks the column 'cited'"):
        records_of(path)
    (path / "papers.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        records_of(path)
