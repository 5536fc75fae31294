from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.records import (
    WORKS,
    openalex_works,
    papers_of,
    version,
    write_lines,
)

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.records import Malformed, PaperRecord


def test_openalex_fixture() -> None:
    assert detect(WORKS) == "openalex"
    works = papers_of(WORKS)
    assert [work.id for work in works] == ["W1", "W2", "W3", "W4", "W5"]
    first = works[0]
    assert first.title == "Sleep and memory in mice"
    assert first.abstract == "Sleep helps memory. Sleep helps mice."
    assert first.keyphrases == ("Sleep", "Mice", "Memory")
    assert first.authors == ("Ada Lovelace", "Grace Hopper")
    assert (first.venue, first.year, first.doi) == ("Journal of Sleep", 2001, "10.1000/one")
    assert works[1].citations == ("W1", "W99")
    # Without MeSH: keywords, else concepts of level 1 up that score well, best first.
    assert works[1].keyphrases == ("Deep sleep",)
    assert works[2].keyphrases == ("Neuroscience", "Dream")
    assert works[3].venue == "Old Venue"
    assert works[4].title == ""


@pytest.mark.skipif(
    not os.environ.get("COCITE_OPENALEX"), reason="needs works: set COCITE_OPENALEX to their file"
)
def test_real_openalex_works(tmp_path: Path) -> None:
    corpus = build(open_source(os.environ["COCITE_OPENALEX"]), tmp_path / "store")
    rules = corpus.counts["rules"]
    assert len(corpus) > 1000
    assert rules["malformed"] == 0
    assert rules["empty_title"] + len(corpus) == sum(1 for _ in open_source(os.environ["COCITE_OPENALEX"]))
    assert len(corpus.cites.indices) > len(corpus)
    assert sum(bool(p.keyphrases and p.authors) for p in corpus.papers_at(range(500))) > 300


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    "bz2": bz2.compress,
}


@pytest.mark.parametrize(
    "form", ["lines", "page", "pretty page", "pages in lines", "array", "folder", "folder.zst"]
)
def test_openalex_pages_are_their_works(tmp_path: Path, form: str) -> None:
    page = {"meta": {"count": 5, "page": 1}, "results": openalex_works(), "group_by": []}
    halves = [page | {"results": page["results"][:2]}, page | {"results": page["results"][2:]}]
    path = tmp_path / "in.json"
    if form.startswith("folder"):
        path = tmp_path / "in"
        path.mkdir()
        for number, half in enumerate(halves):
            data = json.dumps(half, indent=2).encode()
            suffix = form.partition(".")[2]
            name = f"page{number}.json{'.' + suffix if suffix else ''}"
            (path / name).write_bytes(PACKERS[suffix](data) if suffix else data)
    elif form == "pages in lines":
        write_lines(path, halves)
    elif form == "lines":
        shutil.copy(WORKS, path)
    else:
        path.write_text(
            json.dumps(openalex_works() if form == "array" else page, indent=2 if form != "page" else None)
        )
    assert detect(path) == "openalex"
    assert [work.id for work in open_source(path) if isinstance(work, PaperRecord)] == [
        "W1",
        "W2",
        "W3",
        "W4",
        "W5",
    ]
    assert version(path, tmp_path / "one") == version(WORKS, tmp_path / "other")


def test_what_is_wrong_within_a_page_is_named(tmp_path: Path) -> None:
    author = {"id": "https://openalex.org/A5", "display_name": "Ada Lovelace"}
    results = [*openalex_works(), {"id": "W9", "title": "T", "publication_year": "soon"}, 3, author]
    (tmp_path / "page.json").write_text(json.dumps({"meta": {}, "results": results}))
    found = [r for r in open_source(tmp_path / "page.json") if isinstance(r, Malformed)]
    assert [r.field for r in found] == ["results[5].publication_year", "results[6].work", "results[7].id"]
    assert "id must be that of a work, not 'https://openalex.org/A5'" in found[-1].reason
