"""The folders have the fields, and the form of ids, of the published ACL-200."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.records import hits, rejects

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers.hatten import Hatten
from cocite.corpus.records import Malformed
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks

PAPERS = ["A00-1001", "N04-1019", "P05-1022", "P12-1066", "P14-1009", "P15-2138"]


def context(id_: str, text: str = "best with the Pyramid ( TARGETCIT ; OTHERCIT) and") -> dict[str, str]:
    citing, refid, _ = id_.split("_")
    return {"masked_text": f" {text}", "context_id": id_, "citing_id": citing, "refid": refid}


def query(id_: str) -> dict[str, Any]:
    return {"context_id": id_, "positive_ids": [id_.split("_")[1]]}


TRAIN = ["P12-1066_N04-1019_0", "P12-1066_P05-1022_0", "P05-1022_A00-1001_0"]
VAL = ["P14-1009_P05-1022_0", "P14-1009_P05-1022_1"]
TEST = ["P15-2138_N04-1019_0", "P15-2138_P12-1066_0"]


def folder(path: Path, **changes: Any) -> Path:
    """A folder as it was published; ``changes`` replace a file's content, None leaves it out."""
    contents: dict[str, Any] = {
        "papers": {id_: {"title": f"Title of {id_}", "abstract": f"Abstract {id_}."} for id_ in PAPERS},
        "contexts": {id_: context(id_) for id_ in TRAIN + VAL + TEST},
        "train": [query(id_) for id_ in TRAIN],
        "val": [query(id_) for id_ in VAL],
        "test": [query(id_) for id_ in TEST],
    }
    path.mkdir()
    for name, content in (contents | changes).items():
        if content is not None:
            (path / f"{name}.json").write_text(json.dumps(content))
    return path


def stored(path: Path, store: Path, **options: Any) -> Corpus:
    return build(open_source(path), store, rejects=store.parent / "rejects.jsonl", **options)


def queries(corpus: Corpus, split: str) -> dict[str, list[str]]:
    task = tasks.local(corpus, split)
    return {id_: corpus.ids(task.relevant[i].tolist()) for i, id_ in enumerate(task.ids)}


def test_the_local_task_of_a_split_is_the_published_list(tmp_path: Path) -> None:
    source = folder(tmp_path / "acl")
    assert detect(source) == "hatten"
    corpus = stored(source, tmp_path / "store")
    assert hits(corpus) == {}
    assert corpus.ids(range(len(corpus))) == PAPERS
    assert corpus.paper(1).title == "Title of N04-1019"
    assert corpus.paper(1).abstract == "Abstract N04-1019."
    for split, ids in (("train", TRAIN), ("dev", VAL), ("test", TEST)):
        assert queries(corpus, split) == {id_: query(id_)["positive_ids"] for id_ in ids}
    # Without citations of its own, the source's links are those of the contexts.
    assert corpus.paper(5).citations == ("N04-1019", "P12-1066")
    first = tasks.local(corpus, "test").queries[0]
    assert first.context == "best with the Pyramid ( TARGETCIT ; OTHERCIT) and"
    assert (first.title, first.abstract) == ("Title of P15-2138", "Abstract P15-2138.")


def test_relevant_are_the_positive_ids(tmp_path: Path) -> None:
    """As in the authors' code, which never reads ``refid``; a list of one's own may name several."""
    test = [{"context_id": TEST[0], "positive_ids": ["A00-1001", "N04-1019"]}]
    corpus = stored(folder(tmp_path / "own", test=test), tmp_path / "store")
    assert queries(corpus, "test") == {TEST[0]: ["A00-1001", "N04-1019"]}
    assert hits(corpus) == {"context_of_no_split": 1}


def test_a_paper_with_contexts_of_several_splits_is_held_out(tmp_path: Path) -> None:
    source = folder(tmp_path / "in", train=[query(id_) for id_ in [*TRAIN, VAL[0]]], val=[query(VAL[1])])
    corpus = stored(source, tmp_path / "store")
    assert queries(corpus, "dev") == {VAL[1]: ["P05-1022"]}
    assert set(queries(corpus, "train")) == set(TRAIN)
    assert hits(corpus) == {"context_of_earlier_split": 1}
    (reject,) = rejects(tmp_path / "rejects.jsonl")
    assert f"the context {VAL[0]} is of train, others of its paper are of dev" in reject["reason"]


def test_a_context_of_two_lists_belongs_to_the_later(tmp_path: Path) -> None:
    source = folder(tmp_path / "in", train=[query(id_) for id_ in TRAIN + TEST[:1]])
    corpus = stored(source, tmp_path / "store")
    assert set(queries(corpus, "test")) == set(TEST)
    assert hits(corpus) == {"repeated_query": 1}


def test_entries_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    contexts: dict[str, Any] = {id_: context(id_) for id_ in TRAIN + TEST}
    contexts |= {VAL[0]: context(VAL[0]) | {"masked_text": ["x"]}, VAL[1]: "text", "?": context(TEST[0])}
    test: list[Any] = [*map(query, TEST), {"context_id": "none", "positive_ids": []}, {"positive_ids": []}, 3]
    papers = {id_: {"title": id_, "abstract": ""} for id_ in PAPERS[:-1]} | {"P15-2138": {"title": ""}}
    source = folder(tmp_path / "in", papers=papers, contexts=contexts, test=test)
    assert detect(source) == "hatten"
    corpus = stored(source, tmp_path / "store")
    assert hits(corpus) == {
        "malformed": 4,
        "empty_title": 1,
        "context_of_unknown_paper": 2,
        "context_of_no_split": 1,
        "query_without_context": 2,
    }
    reasons = {record.reason for record in open_source(source) if isinstance(record, Malformed)}
    assert f"{VAL[0]}: masked_text must be text, not a list" in reasons
    assert "context_id must be the id of a context, not absent" in reasons
    assert f"contexts.json holds no context {VAL[1]}" in reasons


def test_files_may_be_packed_and_others_are_counted(tmp_path: Path) -> None:
    source = folder(tmp_path / "in")
    for file in list(source.iterdir()):
        (source / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    (source / "test_with_oracle_prefetched_ids_for_reranking.json").write_text("{}\n")
    assert detect(source) == "hatten"
    corpus = stored(source, tmp_path / "store")
    assert hits(corpus) == {"unread_file": 1}
    assert set(queries(corpus, "test")) == set(TEST)
    stream = open_source(source)
    list(stream)
    assert stream.done == stream.total


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"contexts": None}, "contexts"),
        ({"papers": None}, "papers"),
        ({"train": None, "val": None, "test": None}, "test"),
    ],
)
def test_a_folder_without_a_needed_file_is_refused(
    tmp_path: Path, changes: dict[str, None], missing: str
) -> None:
    source = folder(tmp_path / "in", **changes)
    with pytest.raises(InputError, match=rf"holds no {missing}\.json \(name the folder of papers\.json"):
        Hatten(source)


def test_a_file_of_the_folder_is_refused_with_what_to_name(tmp_path: Path) -> None:
    source = folder(tmp_path / "in")
    for name in ("papers.json", "contexts.json"):
        with pytest.raises(InputError, match="name the folder that holds papers.json, contexts.json and"):
            open_source(source / name)
    with pytest.raises(InputError, match="holds no papers.json"):
        open_source(source / "papers.json", "hatten")


def test_one_split_is_enough(tmp_path: Path) -> None:
    corpus = stored(folder(tmp_path / "in", train=None, val=None), tmp_path / "store")
    assert set(queries(corpus, "test")) == set(TEST)
    assert hits(corpus) == {"context_of_no_split": len(TRAIN + VAL)}
