from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.command_line import call

from cocite.errors import InputError
from cocite_jobs.cli import demo


@pytest.fixture
def port() -> int:
    """A port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_folder_of_something_else_stays(
    tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    code, _, err = call(capsys, "demo", "--to", tmp_path / "mine", "--port", port)
    assert code == 2
    assert err == f"cocite: {tmp_path}/mine: is not empty and was not made by the demo (name another: --to)\n"
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_a_source_that_cannot_be_read_is_refused_before_the_folder_is_cleared(
    tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    demo._clear(tmp_path / "demo")
    (tmp_path / "demo" / "model").mkdir()
    code, _, err = call(
        capsys, "demo", "--corpus", tmp_path / "none", "--to", tmp_path / "demo", "--port", port
    )
    assert (code, err) == (2, f"cocite: {tmp_path}/none: no such file or folder\n")
    assert (tmp_path / "demo" / "model").exists()


def test_the_folder_of_an_earlier_demo_is_made_anew(tmp_path: Path) -> None:
    demo._clear(tmp_path / "demo")
    (tmp_path / "demo" / "model").mkdir()
    demo._clear(tmp_path / "demo")
    assert [path.name for path in (tmp_path / "demo").iterdir()] == [".cocite-demo"]
    (tmp_path / "empty").mkdir()
    demo._clear(tmp_path / "empty")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(InputError, match="was not made by the demo"):
        demo._clear(tmp_path / "other")


def test_a_step_is_printed_as_it_can_be_typed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    demo._run_command("corpus", "starter", "--to", tmp_path / "a b")
    assert f"$ cocite corpus starter --to '{tmp_path}/a b'" in capsys.readouterr().out
    assert (tmp_path / "a b" / "manifest.json").is_file()


def test_the_answer_marks_what_the_paper_cites(capsys: pytest.CaptureFixture[str]) -> None:
    asked = SimpleNamespace(paper=SimpleNamespace(title="A [CIT] title", year=0), cites={"x"})
    evidence = {"shared_words": [{"word": f"word{i}"} for i in range(7)]}
    papers = [
        {"id": "x", "title": "Cited", "year": 2001, "evidence": evidence},
        {"id": "y", "title": "Not cited", "year": 0, "evidence": None},
    ]
    demo._print_answer(asked, {"papers": papers})
    out = capsys.readouterr().out
    assert "What should “A [CIT] title” (year unknown) cite?" in out
    (cited,) = (line for line in out.splitlines() if "Cited" in line)
    assert "✓" in cited
    assert "word0, word1, word2, word3, word4 " in cited
    (other,) = (line for line in out.splitlines() if "Not cited" in line)
    assert "✓" not in other
