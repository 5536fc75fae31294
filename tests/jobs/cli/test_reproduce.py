from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(200, seed=6, split=(2, 1), context_rate=2.0, sentences=True)


def test_a_table_is_printed_with_the_papers_numbers_and_its_page_named(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["reproduce", "citeomatic", "--corpus", corpus.path, "--size", "toy", "--only", "table1"]
    code, out, err = call(capsys, *line)
    assert code == 0, err
    assert "The page: reproduction/citeomatic-toy/index.html" in out
    assert "6,900,000" in out
    assert (tmp_path / "reproduction/citeomatic-toy/report.md").is_file()
    code, out, err = call(capsys, *line, "--json")
    assert code == 0, err
    [exhibit] = json.loads(out)["exhibits"]
    assert exhibit["rows"][0] == {"statistic": "# of documents in corpus", "value": 200}


def test_several_seeds_make_one_page(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, tmp_path: Path
) -> None:
    line = ["reproduce", "citeomatic", "--corpus", corpus.path, "--size", "toy", "--to", tmp_path / "to"]
    code, out, err = call(capsys, *line, "--only", "table1", "--seeds", "3,5", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["seeds"] == "3, 5"
    assert [trial["seed"] for trial in report["exhibits"][0]["trials"]] == [3, 5]


def test_what_is_missing_is_an_error_of_one_sentence(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, tmp_path: Path
) -> None:
    line = ["reproduce", "nogueira", "--corpus", corpus.path, "--size", "toy", "--to", tmp_path / "to"]
    code, _, err = call(capsys, *line, "--only", "table2", "--encoder", "no/such-encoder")
    assert code == 1
    assert (
        "missing: Table 2: BM25 and the cross-encoder, on dev and test. Its training reranker failed"
        in " ".join(err.split())
    )
    assert err.strip().splitlines()[-1].endswith("index.html: 1 of the tables and figures is missing")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["citeomattic"], "PAPER: no paper is called 'citeomattic' (did you mean 'citeomatic'?)"),
        (["citeomatic", "--budget", "soon"], "--budget: 'soon' is no duration (as 45m, 2h or 1d)"),
        (["citeomatic", "--only", "table6"], "--only: cocite makes no 'table6' of citeomatic"),
        (["citeomatic", "--size", "huge"], "Invalid value for '--size'"),
        (
            ["citeomatic", "--encoder", "a", "--encoder", "b"],
            "--encoder: citeomatic compares no encoders, and 2 are named",
        ),
        (["nogueira", "--encoder", "a", "--encoder", "a"], "--encoder: 'a' is named twice"),
        (
            ["hatten", "--change", "haten.words.source=file"],
            "--change: hatten at size small trains no 'haten' (did you mean 'hatten'?)",
        ),
        (["hatten", "--change", "hatten.words.sorce=file"], "unknown key 'words.sorce'"),
        (["citeomatic", "--seed", "-1"], "Invalid value for '--seed'"),
        (["citeomatic", "--seeds", "0,1", "--seed", "0"], "--seeds: cannot be given with --seed"),
        (["citeomatic", "--seeds", "0;1"], "--seeds: '0;1' is no list of seeds"),
        (["citeomatic", "--seeds", "0,1", "--to", "FILE"], "FILE: is a file, not a folder to write into"),
        (
            ["citeomatic", "--seeds", "0,1", "--only", "table6"],
            "--only: cocite makes no 'table6' of citeomatic",
        ),
        (["citeomatic", "--to", "FILE"], "FILE: is a file, not a folder to write into"),
        (["citeomatic", "--corpus", "nowhere"], "nowhere"),
        ([], "Missing argument 'paper'"),
    ],
)
def test_mistakes_are_reported_before_anything_is_trained(
    capsys: pytest.CaptureFixture[str],
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    code, out, err = call(capsys, "reproduce", "--corpus", corpus.path, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]
