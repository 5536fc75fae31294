"""What a command imports: nothing that takes long and that it does not use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.cli import COMMANDS
from cocite.retrieval.index.snapshot import IndexSnapshot

RUN = """
import json, os, sys
from cocite.cli import main
try:
    main(sys.argv[1:])
finally:
    sys.stdout.flush()
    found = sorted({name.split(".")[0] for name, module in sys.modules.items() if module is not None})
    os.write(2, ("\\nIMPORTED " + json.dumps(found)).encode())
"""
ALWAYS_LEFT = {
    "torch",
    "transformers",
    "ray",
    "mlflow",
    "lightgbm",
    "sklearn",
    "gensim",
    "matplotlib",
    "hyperopt",
}
ALWAYS_LEFT |= {
    "fastapi",
    "bm25s",
    "numba",
    "faiss",
    "ir_measures",
    "pytrec_eval",
    "deepspeed",
    "haystack",
    "langchain_core",
    "pyterrier",
}


def imported(*arguments: object) -> set[str]:
    """The top-level modules that a command line has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.rpartition("IMPORTED ")[2]))


@pytest.fixture(scope="module")
def index(synthetic: SyntheticCorpora, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup")
    IndexSnapshot.create(synthetic(60, seed=1), folder / "index")
    return folder / "index"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_little(command: str) -> None:
    assert imported(command, "--help") & (ALWAYS_LEFT | {"scipy", "pandas"}) == set()


def test_listing_sweeps_imports_neither_torch_nor_scipy() -> None:
    assert imported("tune", "list") & (ALWAYS_LEFT | {"scipy", "pandas"}) == set()


def test_judging_a_run_imports_no_index(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"q1 Q0 a 1 2.0 {name}\nq2 Q0 c 1 1.0 {name}\n")
    run = ("evaluate", "run", tmp_path / "one", "--qrels", tmp_path / "qrels")
    assert imported(*run) & (ALWAYS_LEFT | {"scipy", "pandas"}) == set()
    compared = imported(*run, "--against", tmp_path / "two")
    assert "scipy" in compared
    assert compared & (ALWAYS_LEFT | {"pandas"}) == set()


def test_ranking_without_a_model_imports_no_model(index: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "title": "neural parsing"}\n')
    done = imported(
        "rank", "--queries", tmp_path / "queries.jsonl", "--to", tmp_path / "run", "--index", index
    )
    assert {"scipy", "numba"} <= done
    assert done & ALWAYS_LEFT == {"numba"}


def test_importing_the_package_imports_next_to_nothing() -> None:
    code = "import sys; before = set(sys.modules); import cocite; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    found = {name.split(".")[0] for name in done.stdout.split()}
    assert "cocite" in found, done.stderr
    assert found & (ALWAYS_LEFT | {"numpy", "pyarrow", "pydantic", "scipy", "pandas", "typer"}) == set()


def test_recommending_imports_no_framework() -> None:
    code = "import sys; import cocite.pipeline.recommender; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "cocite.pipeline.recommender" in done.stdout.split(), done.stderr
    frameworks = ("langchain", "langsmith", "haystack", "pyterrier")
    assert not any(name.startswith(frameworks) for name in done.stdout.split())


def test_listing_the_versions_of_an_index_opens_none(index: Path) -> None:
    assert imported("index", "list", index) & (ALWAYS_LEFT | {"pandas"}) == set()
