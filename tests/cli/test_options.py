"""The options that several commands share: what they parse, and that they act."""

from __future__ import annotations

import os
from typing import Annotated, get_args, get_origin

import pytest
import typer
from typer.testing import CliRunner

from cocite.cli import COMMANDS, options, root
from cocite.errors import InputError
from cocite.verification import SWITCH


def walk(group: object, context: typer.Context | None = None) -> dict[str, object]:
    """Command path -> command, of all commands below a group."""
    import click

    found: dict[str, object] = {}
    for name in group.list_commands(context):  # type: ignore[attr-defined]
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        if hasattr(command, "list_commands"):
            below = walk(command, click.Context(command, info_name=name))
            found |= {f"{name} {path}": inner for path, inner in below.items()}
        else:
            found[name] = command
    return found


@pytest.mark.parametrize(
    ("resume", "fresh", "mode"), [(False, False, "new"), (True, False, "resume"), (False, True, "fresh")]
)
def test_resume_and_fresh_give_one_mode(resume: bool, fresh: bool, mode: str) -> None:
    assert options.start_mode(resume, fresh, command="train") == mode


def test_resume_and_fresh_exclude_each_other() -> None:
    with pytest.raises(InputError, match="^tune: --resume and --fresh exclude each other$"):
        options.start_mode(True, True, command="tune")


def test_no_verify_acts_when_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    app = typer.Typer()

    @app.command()
    def command(no_verify: options.NoVerifyOption = False) -> None:
        typer.echo(os.environ.get(SWITCH, "on"))

    assert CliRunner().invoke(app, []).stdout == "on\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "on")  # so that the value of before comes back
        assert CliRunner().invoke(app, ["--no-verify"]).stdout == "0\n"


def test_each_option_has_a_help_text_that_ends_as_a_sentence() -> None:
    texts = {
        name: get_args(value)[1].help
        for name, value in vars(options).items()
        if get_origin(value) is Annotated
    }
    assert len(texts) > 15
    assert [name for name, text in texts.items() if not text or not text.endswith((".", "]."))] == []


def test_an_option_means_the_same_in_all_commands() -> None:
    """What two commands spell alike and share has one help text; ``--to`` and ``--corpus`` name different things."""
    import click

    commands = walk(root, click.Context(root))
    assert {path.split()[0] for path in commands} == set(COMMANDS)
    own = {
        "--to",
        "--corpus",
        "--model",
        "--index",
        "--seed",
        "--address",
        "--resume",
        "--fresh",
        "--track",
        "--verbose",
    }
    own |= {
        "--format",
        "--rejects",
        "--split",
        "--sample",
        "--version",
        "--max-latency-ms",
        "--baselines",
        "--only",
        # Of a command that does something, and of ``plan``, which computes what it would take.
        "--papers",
        "--shards",
        "--replicas",
        # Where a model trains, and where shards are searched.
        "--on",
        # Which of a model's encoders embed, and the one that rerankers start from.
        "--encoder",
        # Jobs that are listed, and copies that are removed.
        "--all",
        # Of a job on the cluster, and of a published model.
        "--name",
        # Of a step, whose parts they make; of a ranking, whose shards are searched without them.
        "--workers",
    }
    texts: dict[str, set[str]] = {}
    for command in commands.values():
        for parameter in command.params:  # type: ignore[attr-defined]
            for name in set(parameter.opts) - own:
                if name.startswith("--"):
                    texts.setdefault(name, set()).add(parameter.help)
    assert {name: found for name, found in texts.items() if len(found) > 1} == {}
    shared = [
        n
        for n in ("--json", "--no-verify", "--candidates", "--k", "--batch", "--rerank", "--wait")
        if n in texts
    ]
    assert len(shared) == 7


def test_each_argument_and_option_has_a_sentence() -> None:
    import click

    silent = [
        (path, parameter.name)
        for path, command in walk(root, click.Context(root)).items()
        for parameter in command.params  # type: ignore[attr-defined]
        if not getattr(parameter, "help", None)
    ]
    assert silent == []


def test_options_parse_their_bounds() -> None:
    app = typer.Typer()

    @app.command()
    def command(
        store: options.StoreArgument, k: options.DepthOption = 2000, replace: options.ReplaceOption = False
    ) -> None:
        typer.echo(f"{store} {k} {replace}")

    run = CliRunner()
    assert run.invoke(app, ["corpus"]).stdout == "corpus 2000 False\n"
    assert run.invoke(app, ["corpus", "--k", "7", "--replace"]).stdout == "corpus 7 True\n"
    for wrong in ("0", "100001", "many"):
        assert run.invoke(app, ["corpus", "--k", wrong]).exit_code == 2
