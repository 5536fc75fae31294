from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Path]:
    """A run and the qrels it is judged by: one of two relevant papers is found, at rank 2."""
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b 1\n")
    (tmp_path / "run").write_text("q1 Q0 x 1 2.0 tag\nq1 Q0 a 2 1.0 tag\n")
    return tmp_path / "run", tmp_path / "qrels"


def test_a_run_is_judged_and_written_in_markdown(
    run: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, qrels = run
    line = (
        "evaluate",
        "run",
        path,
        "--qrels",
        qrels,
        "--metrics",
        "MRR,R@2,P@2",
        "--markdown",
        tmp_path / "r.md",
    )
    code, out, err = call(capsys, *line, "--json")
    assert code == 0, err
    (row,) = json.loads(out)["tables"]["metrics"]
    assert (row["MRR"], row["R@2"], row["P@2"]) == (0.5, 0.5, 0.5)
    assert "| MRR |" in (tmp_path / "r.md").read_text()


def test_the_run_is_not_overwritten(run: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    path, qrels = run
    code, _, err = call(capsys, "evaluate", "run", path, "--qrels", qrels, "--markdown", qrels)
    assert (code, "is read by this command" in err) == (2, True)
    assert qrels.read_text().startswith("q1 0 a")


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("run", ["RUN", "--qrels", "QRELS", "--metrics", "MRR,Q@3"], "Q@3"),
        (
            "reranking",
            ["--model", "none", "--depths", "10,many"],
            "cocite: --depths: '10,many' are not whole numbers (10,20,50,100)",
        ),
        ("reranking", ["--model", "none", "--oracle-depth", "1"], "greater than or equal to 2"),
        ("tables", [], "Missing option '--model'"),
    ],
)
def test_mistakes_are_reported_in_a_sentence(
    run: tuple[Path, Path],
    synthetic: SyntheticCorpora,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    arguments: list[str],
    message: str,
) -> None:
    known = {"RUN": run[0], "QRELS": run[1]}
    line = [known.get(argument, argument) for argument in arguments]
    if command != "run":
        line += ["--corpus", synthetic(300, seed=5, split=(3, 1)).path, "--no-track", "--tracking", tmp_path]
    code, out, err = call(capsys, "evaluate", command, *line)
    assert code == 2
    assert out == ""
    assert message in err


def test_the_group_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    out = call(capsys, "evaluate", "--help")[1]
    assert all(f"\n  {name}" in out for name in ("run", "pipeline", "tables", "reranking", "cocitation"))
