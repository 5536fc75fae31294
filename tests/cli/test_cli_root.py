"""The root of the command line: help without imports, mistakes in a sentence, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from cocite.cli import COMMANDS, main
from cocite.cli.signals import exit_on_sigterm
from cocite.errors import BusyError, InputError, IntegrityError

pytestmark = pytest.mark.usefixtures("signal_handlers")
HEAVY = {
    "torch", "numpy", "scipy", "pyarrow", "transformers", "pydantic", "yaml", "typer", "rich", "faiss", "bm25s",
    "lightgbm", "ray", "mlflow", "fastapi", "cocite_jobs", "cocite_mlflow", "cocite_serve", "cocite_tuning",
}  # fmt: skip


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys\nfrom cocite.cli import main\n"
        "for args in (['--help'], ['--version'], []):\n"
        "    try: main(args)\n"
        "    except SystemExit: pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "click" in loaded
    assert loaded & HEAVY == set()
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_the_installed_command_answers() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "cocite", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("cocite, version ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists_and_helps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call([name, "--help"], capsys)
    assert (code, err) == (0, "")
    assert "Usage:" in out
    assert "--install-completion" not in out


def call(args: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    try:
        main(args)
        code: Any = 0
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code or 0, captured.out, captured.err.lstrip("\n")  # click ends the line of a "^C"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that ends in every way a command can."""
    # Whoever started the tests may have SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    exit_on_sigterm()
    app = typer.Typer()

    @app.command()
    def go(how: str, number: Annotated[int, typer.Option(help="How many [CIT] [default: none].")] = 0) -> int:
        failures: dict[str, Exception] = {
            "input": InputError("bad year 3022", where="p.jsonl:7", hint="mend it"),
            "damaged": IntegrityError("damaged", where="a.npy"),
            "busy": BusyError("in use"),
            "exit": typer.Exit(9),
            "usage": typer.BadParameter("no such paper"),
            "abort": typer.Abort(),
            "defect": ZeroDivisionError("a defect"),
        }
        if how == "interrupt":
            raise KeyboardInterrupt
        if how in ("translated", "translated-end"):
            try:
                signal.raise_signal(signal.SIGINT if how == "translated" else signal.SIGTERM)
            except BaseException:
                raise TypeError("result array type does not match") from None  # as NumPy's compiled code does
        if how == "file":
            Path("/no/such/folder/x").read_text()
        if how in failures:
            raise failures[how]
        return 7

    @app.command()
    def other() -> None: ...

    module = types.ModuleType("a_fake_command")
    module.app = app  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_fake_command", module)
    monkeypatch.setitem(COMMANDS, "fake", ("a_fake_command:app", "For tests."))


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("well", 0, ""),
        ("input", 2, "cocite: p.jsonl:7: bad year 3022 (mend it)\n"),
        ("damaged", 3, "cocite: a.npy: damaged\n"),
        ("busy", 4, "cocite: in use\n"),
        ("exit", 9, ""),
        ("abort", 130, "cocite: stopped\n"),
        ("interrupt", 130, "cocite: stopped\n"),
        ("translated", 130, "cocite: stopped\n"),
        ("translated-end", 143, "cocite: stopped\n"),
        ("file", 1, "cocite: /no/such/folder/x: No such file or directory\n"),
    ],
)
def test_each_end_has_its_code_and_its_sentence(
    how: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["fake", "go", how], capsys) == (code, "", message)


@pytest.mark.usefixtures("fake")
def test_wrong_usage_prints_the_usage_line(capsys: pytest.CaptureFixture[str]) -> None:
    for args, words in (
        (["fake", "go", "usage"], "no such paper"),
        (["fake", "go", "well", "--number", "x"], "'--number'"),
        (["fake", "go", "well", "--numbr", "3"], "--number"),
        (["fake", "go"], "Missing argument"),
        (["fake", "gp"], "gp"),
        (["fake"], "Missing command"),
        (["--nope"], "--nope"),
    ):
        code, _, err = call(args, capsys)
        assert code == 2, args
        assert words in err, args
        assert "Usage: " in err, args
        assert "Traceback" not in err, args


@pytest.mark.usefixtures("fake")
def test_help_shows_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(["fake", "go", "--help"], capsys)
    assert code == 0
    assert "How many [CIT] [default: none]." in " ".join(out.split())


def test_an_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(["corpsu"], capsys)
    assert (code, out) == (2, "")
    assert err.startswith("cocite: no command 'corpsu': did you mean 'corpus'?\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("import", "'cocite corpus import' or 'cocite model import'"), ("build", "'cocite index build'")],
)
def test_a_command_without_its_group_is_told_with_it(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call([typed, "papers.jsonl"], capsys)
    assert (code, out) == (2, "")
    assert err.startswith(f"cocite: no command {typed!r}: did you mean {meant}?\n")


def test_no_arguments_show_the_help_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call([], capsys)
    assert code == 2
    assert (out + err).startswith("Usage: ")


@pytest.mark.usefixtures("fake")
def test_a_defect_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError, match="a defect"):
        main(["fake", "go", "defect"])


@pytest.mark.usefixtures("fake")
def test_a_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCITE_TRACEBACK", "1")
    with pytest.raises(InputError, match="bad year 3022"):
        main(["fake", "go", "input"])


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -c 'from cocite.cli import main; main([\"--help\"])' | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=os.environ)
    assert "Traceback" not in done.stderr
