"""``cocite index`` from end to end, on a small synthetic corpus."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder


@pytest.fixture(scope="module")
def store(synthetic: SyntheticCorpora) -> Path:

    return synthetic(60, seed=1).path


@pytest.fixture
def new_papers(tmp_path: Path) -> Path:
    path = tmp_path / "new.jsonl"
    records: list[dict[str, Any]] = [
        {"id": "n1", "title": "A quokka parser", "abstract": "Parsing with quokkas.", "year": 2024},
        {"id": "n2", "title": "More quokkas", "abstract": "", "year": 2024, "citations": ["n1"]},
        {"id": "n2", "title": "The same id again", "year": 2024},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_build_add_remove_list_verify(
    store: Path, new_papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index"
    code, out, _ = call(capsys, "index", "build", store, "--to", index, "--known-until", "2015", "--json")
    built = json.loads(out)
    assert (code, built["version"], built["papers"], built["known_until"]) == (0, "000001", 60, 2015)
    assert built["vectors"] == {}
    code, out, _ = call(capsys, "index", "add", index, new_papers, "--json")
    added = json.loads(out)
    assert (code, added["version"], added["added"], added["papers"]) == (0, "000002", 2, 62)
    assert added["rules"]["duplicate_id"] == 1
    code, out, _ = call(capsys, "index", "remove", index, "n1")
    assert code == 0
    assert "61 papers" in out
    assert "removed 1" in out
    code, out, _ = call(capsys, "index", "list", index, "--json")
    versions = json.loads(out)
    assert [(v["version"], v["current"], v["alive"]) for v in versions] == [
        ("000002", False, 62),
        ("000003", True, 61),
    ]
    code, out, _ = call(capsys, "index", "list", index)
    assert "000003 *" in out
    assert "61 of 62" in out
    code, out, _ = call(capsys, "index", "verify", index, "--json")
    assert json.loads(out)["ok"] is True


def test_new_vectors_with_another_model(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, models = tmp_path / "index", [tmp_path / "first", tmp_path / "second"]
    for seed, model in enumerate(models):
        bert = tiny_bert(tmp_path / f"bert-{seed}", [], seed=seed)
        save_sentence_encoder(model / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=16), {})
    call(capsys, "index", "build", store, "--to", index, "--model", models[0])
    code, out, err = call(capsys, "index", "reembed", index, "--model", models[0])
    assert code == 0, err
    assert "no version is made" in err
    assert "version 000001 is current" in out
    code, out, _ = call(capsys, "index", "reembed", index, "--model", models[1], "--json")
    done = json.loads(out)
    assert (code, done["version"], done["encoded"]) == (0, "000002", ["sentence"])
    code, out, _ = call(capsys, "index", "reembed", index, "--model", models[1], "--json")
    assert (json.loads(out)["version"], json.loads(out)["encoded"]) == ("000002", [])


def test_an_index_in_shards_is_changed_listed_and_verified(
    store: Path, new_papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index"
    code, out, _ = call(capsys, "index", "build", store, "--to", index, "--shards", "3")
    assert (code, "3 shards" in out) == (0, True)
    code, out, _ = call(capsys, "index", "add", index, new_papers, "--json")
    added = json.loads(out)
    assert (code, added["version"], added["added"], added["papers"]) == (0, "000002", 2, 62)
    assert [shard["papers"] for shard in added["shards"]] == [20, 20, 20, 2]
    code, out, _ = call(capsys, "index", "remove", index, "n1")
    assert code == 0
    assert "61 papers" in out
    assert "4 shards" in out
    code, out, _ = call(capsys, "index", "list", index, "--json")
    assert [len(version["shards"]) for version in json.loads(out)] == [4, 4]
    code, out, _ = call(capsys, "index", "list", index)
    assert "shards" in out
    code, out, _ = call(capsys, "index", "list", index, "--sizes", "--json")
    sizes = {part["part"]: part for part in json.loads(out)["parts"]}
    assert sizes["papers: vocabulary"]["loaded"]
    assert not sizes["contexts: inverted lists"]["loaded"]
    code, out, _ = call(capsys, "index", "verify", index, "--json")
    assert json.loads(out)["ok"] is True


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("file", "shards/0001/papers/title/idf.npy: damaged"),
        ("missing", "shards/0001: shard 2 of 3 is missing"),
        ("foreign", "shards/0001: shard 2 of 3 belongs to another version: its digest is"),
    ],
)
def test_a_shard_that_is_damaged_missing_or_foreign_is_named(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str, sentence: str
) -> None:
    index = tmp_path / "index"
    call(capsys, "index", "build", store, "--to", index, "--shards", "3")
    shards = index / "versions" / "000001" / "shards"
    match damage:
        case "file":
            file = shards / "0001" / "papers" / "title" / "idf.npy"
            data = file.read_bytes()
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 255]))
        case "missing":
            shutil.rmtree(shards / "0001")
        case _:
            shutil.rmtree(shards / "0001")
            shutil.copytree(shards / "0002", shards / "0001")
    for command in (["index", "verify", index], ["index", "remove", index, "S00000001"]):
        code, _, err = call(capsys, *command)
        assert code == 3
        assert sentence in " ".join(err.split())


def test_an_index_before_a_split(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mixed, index = tmp_path / "mixed", tmp_path / "index"
    assert call(capsys, "corpus", "split", store, "--random", "0.2,0.2", "--to", mixed)[0] == 0
    build = ("index", "build", mixed, "--to", index)
    code, out, err = call(capsys, *build, "--before-split", "test", "--json")
    built = json.loads(out)
    assert (code, built["before_split"], built["known_until"]) == (0, "test", None)
    assert "warning" not in err
    code, out, _ = call(capsys, "corpus", "stats", mixed, "--json")
    contexts = json.loads(out)["by_split"]["contexts"]
    assert built["contexts"] == contexts["train"] + contexts["dev"] < sum(contexts.values())
    code, out, _ = call(capsys, "index", "list", index)
    assert "before test" in out
    evaluate = (
        "evaluate",
        "pipeline",
        "--corpus",
        mixed,
        "--task",
        "global",
        "--k",
        20,
        "--no-track",
        "--json",
    )
    tables = []
    for options in ((), ("--index", index)):
        code, out, err = call(capsys, *evaluate, "--stages", "first", *options)
        assert code == 0, err
        tables.append(json.loads(out)["tables"]["metrics"])
    assert tables[0] == tables[1]
    call(capsys, *build, "--before-split", "dev")
    code, _, err = call(capsys, *evaluate, "--index", index)
    assert (
        code,
        "build it without --known-until and --before-split, or with a later year or split" in err,
    ) == (2, True)
    code, _, err = call(capsys, *build, "--before-split", "dev", "--known-until", "2010")
    assert (code, "the year 2010 and the split 'dev' both say what is known (give one of them)" in err) == (
        2,
        True,
    )
    code, _, err = call(capsys, *build, "--before-split", "tset")
    assert (code, "did you mean 'test'" in err) == (2, True)
    assert call(capsys, "corpus", "split", store, "--random", "0,0", "--to", tmp_path / "unsplit")[0] == 0
    code, _, err = call(
        capsys, "index", "build", tmp_path / "unsplit", "--to", index, "--before-split", "test"
    )
    assert (code, "no paper belongs to the test split (import the corpus with a split)" in err) == (2, True)


def test_a_cold_history_is_a_warning_where_work_can_go_on_and_an_error_where_not(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cold, index = tmp_path / "cold", tmp_path / "index"
    code, _, err = call(capsys, "corpus", "split", store, "--years", "1500,1501", "--to", cold)
    sentence = "before the test split cites another one, so nothing is known of who cites whom"
    assert (code, err.count("cocite: warning:"), sentence in err) == (0, 1, True)
    source = tmp_path / "papers.jsonl"
    papers = [
        {"id": "a", "title": "A", "year": 2011},
        {"id": "b", "title": "B", "year": 2011, "citations": ["a"]},
    ]
    source.write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    imported = ("corpus", "import", source, "--to", tmp_path / "one", "--split-years", "2009,2010")
    code, out, err = call(capsys, *imported, "--json")
    assert (code, json.loads(out)["citations"], sentence in err) == (0, 1, True)
    assert "cocite corpus split STORE --random 0.1,0.1 --to NEW" in err
    code, _, err = call(capsys, "index", "build", cold, "--to", index, "--before-split", "test")
    assert (code, "warning" in err, "no paper whose links this index may know cites another one" in err) == (
        0,
        True,
        True,
    )
    code, out, err = call(
        capsys,
        "evaluate",
        "pipeline",
        "--corpus",
        cold,
        "--task",
        "global",
        "--stages",
        "bm25",
        "--no-track",
        "--json",
    )
    assert (code, "warning" in err, sentence in err) == (0, True, True)
    assert json.loads(out)["queries"] > 0
    train = (
        "train",
        "nnselect",
        "--corpus",
        cold,
        "--to",
        tmp_path / "model",
        "period.train_until=1600",
        "--no-track",
    )
    code, _, err = call(capsys, *train)
    assert (code, "no paper of the training period cites another one" in err, "warning" in err) == (
        2,
        True,
        False,
    )
    dev_only = tmp_path / "dev"
    call(capsys, "corpus", "split", store, "--years", "1500,2015", "--to", dev_only)
    train = (
        "train",
        "fusion",
        "--corpus",
        dev_only,
        "--to",
        tmp_path / "model",
        "--no-track",
        "tasks=[global]",
    )
    code, _, err = call(capsys, *train, "trees.trees=2", "queries=10")
    assert (code, "warning" in err, "no paper before the dev split cites another one" in err) == (
        0,
        True,
        True,
    )


def test_mistakes_are_reported_in_a_sentence(
    store: Path, new_papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index"
    code, _, err = call(capsys, "index", "list", index)
    assert (code, "holds no index" in err) == (2, True)
    code, _, err = call(capsys, "index", "add", index, new_papers)
    assert (code, "holds no index" in err) == (2, True)
    assert not index.exists(), "a refused command leaves nothing behind"
    code, _, err = call(capsys, "index", "build", tmp_path / "nothing", "--to", index)
    assert code == 2
    call(capsys, "index", "build", store, "--to", index)
    code, _, err = call(capsys, "index", "remove", index, "nobody")
    assert (code, "'nobody'" in err) == (2, True)
    code, _, err = call(capsys, "index", "build", store, "--to", index, "--model", tmp_path)
    assert (code, "nnselect" in err) == (2, True)
    code, _, err = call(capsys, "index", "verify", index, "--version", "000007")
    assert (code, "'000007'" in err) == (2, True)
    damaged = index / "versions" / "000001" / "alive.npy"
    damaged.write_bytes(damaged.read_bytes()[::-1])
    code, _, err = call(capsys, "index", "verify", index)
    assert (code, "alive.npy" in err) == (3, True)


def test_k1_and_b_are_options_and_are_printed(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index"
    build = ("index", "build", store, "--to", index)
    code, out, _ = call(capsys, *build, "--bm25", "text.k1=2.5", "--bm25", "title.b=0.1")
    assert code == 0
    assert "text.k1 2.5, title.b 0.1" in out
    code, out, err = call(capsys, *build, "--json")
    assert json.loads(out)["bm25"] == {}
    assert "the version before had --bm25 text.k1=2.5 --bm25 title.b=0.1" in err
    code, _, err = call(capsys, *build, "--bm25", "txt.k1=2")
    assert (code, "--bm25 txt.k1=2 on the command line: unknown key 'txt' (did you mean 'text'" in err) == (
        2,
        True,
    )
    code, _, err = call(capsys, *build, "--bm25", "text.b=2")
    assert (code, "text.b: input should be less than or equal to 1, got 2" in err) == (2, True)


def write(path: Path, *values: dict[str, Any] | str) -> Path:
    path.write_text("".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values))
    return path


def test_adding_to_an_index_names_unknown_fields_and_refuses_nothing_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, index = tmp_path / "store", tmp_path / "index"
    first = write(tmp_path / "a.jsonl", {"id": "a", "title": "A quokka"})
    call(capsys, "corpus", "import", first, "--to", store)
    call(capsys, "index", "build", store, "--to", index)
    code, _, err = call(capsys, "index", "add", index, first)
    assert code == 2
    assert "a.jsonl: no new paper can be kept: 1 rejected, 1 by the rule duplicate_id" in err
    new = write(tmp_path / "b.jsonl", {"id": "b", "title": "A parser", "references": ["a"]})
    code, out, _ = call(capsys, "index", "add", index, new)
    assert (code, "unknown field 'references' of a paper (1); did you mean 'citations'?" in out) == (
        0,
        True,
    )
    versions = json.loads(call(capsys, "index", "list", index, "--json")[1])
    assert [entry["papers"] for entry in versions] == [1, 2]


def test_an_index_without_bodies_is_of_its_corpus_in_every_command(
    synthetic: SyntheticCorpora, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, index = synthetic(60, seed=1, sentences=True).path, tmp_path / "index"
    assert call(capsys, "index", "build", whole, "--to", index)[0] == 0
    inside = index / "versions" / "000001" / "corpus"
    versions = []
    for store in (whole, inside):
        code, out, _ = call(capsys, "corpus", "verify", store, "--json")
        versions.append(json.loads(out)["version"])
        counts = json.loads(call(capsys, "corpus", "stats", store, "--json")[1])["counts"]
        assert (code, "sentences" in counts) == (0, store == whole)
    assert versions[0] == versions[1]
    parts = json.loads(call(capsys, "index", "list", index, "--sizes", "--json")[1])["parts"]
    assert not [part for part in parts if part["part"] == "corpus: sentences"]
    assert call(capsys, "index", "verify", index)[0] == 0
