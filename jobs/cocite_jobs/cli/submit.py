"""``cocite job submit COMMAND ...``: a command of cocite as a job on a Ray cluster.

Each command keeps its own arguments, which its own parser reads here before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cocite.cli.console import err, print_json
from cocite_jobs.cli.job_arguments import make_request
from cocite_jobs.cli.job_output import follow, log_stream, print_end
from cocite_jobs.cli.submission import Submission, submission, submission_parameters
from cocite_jobs.cli.submission import app as options_app
from cocite_jobs.cli.submitted import SUBMITTED, Submitted, command_of

REPLACED = frozenset({"accelerator", "address", "as_json", "check", "wait", "_no_verify"})
"""Parameters of a command that its submission has itself, or that say nothing of a run on another machine."""


class SubmitGroup(TyperGroup):
    """The commands that can be submitted; what names none of them is a recipe to train.

    Example:
        >>> import typer.main
        >>> typer.main.get_command(app).list_commands(None)[-2:]
        ['train', 'tune']
    """

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Their names."""
        return [name for name, entry in SUBMITTED.items() if command_of(entry.path) is not None]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """A command with the options of a submission."""
        entry = SUBMITTED.get(cmd_name)
        command = command_of(entry.path) if entry else None
        return _submitting(cmd_name, command, entry) if entry and command is not None else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``train`` before what names no command."""
        if args and args[0] not in SUBMITTED and args[0] not in ctx.help_option_names:
            args = ["train", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Run a command as a job on a Ray cluster; follow its log, and end with its exit code.",
    epilog="Ctrl-C leaves the job running. `cocite job submit RECIPE` is `cocite job submit train RECIPE`.",
    cls=SubmitGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(options_app, name="options", hidden=True)


def _submitting(name: str, command: Any, entry: Submitted) -> Any:
    """A command, or a group of commands, that is submitted in place of being run."""
    if hasattr(command, "commands"):
        inner = {
            child: _submitting(child, each, replace(entry, path=(*entry.path, child)))
            for child, each in command.commands.items()
        }
        return TyperGroup(
            name=name, commands=inner, help=command.help, no_args_is_help=True, rich_markup_mode=None
        )
    theirs = [param for param in command.params if param.name not in REPLACED]
    ours = submission_parameters()
    return TyperCommand(
        name=name,
        params=[*theirs, *ours],
        callback=_submitter(entry, command.params, {param.name for param in ours}),
        help=command.help,
        no_args_is_help=command.no_args_is_help,
        rich_markup_mode=None,
    )


def _submitter(entry: Submitted, parameters: list[Any], ours: set[str]) -> Callable[..., None]:
    def submit(**values: Any) -> None:
        own = {name: values.pop(name) for name in ours}
        _submit(entry, parameters, values, submission(**own))

    return submit


def _submit(entry: Submitted, parameters: list[Any], values: dict[str, Any], chosen: Submission) -> None:
    """Submit a parsed command line, and follow the job unless it is detached."""
    from cocite_jobs.cluster.job_client import JobClient

    request = make_request(entry, parameters, values, chosen)
    cluster = JobClient(chosen.address)
    if (nodes := cluster.nodes()) is not None:
        request = replace(request, driver=request.driver.on(nodes))
        if not chosen.wait:
            request.driver.check(nodes)
    id_ = cluster.submit(request)
    if chosen.detach:
        if chosen.as_json:
            print_json(cluster.job(id_))
        else:
            err.print(
                f"Job {id_} was submitted. Follow it: cocite job logs {id_} --follow --address {chosen.address}"
            )
        return
    err.print(f"Job {id_}")
    job = follow(cluster, id_, log_stream(chosen.as_json))
    if chosen.as_json:
        print_json(job)
    print_end(job)
