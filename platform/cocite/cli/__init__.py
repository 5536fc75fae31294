"""The command line, ``cocite``.

Each command lives in the package that owns it and is named here by string, so that ``cocite --help`` imports none
of them and answers at once. This table is the one place that names commands of several packages.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, NoReturn

import click

import cocite
from cocite.cli.signals import INTERRUPTED, noted_stops
from cocite.errors import CociteError

COMMANDS: dict[str, tuple[str, str]] = {
    "corpus": ("cocite.cli.corpus:app", "Import, check, describe and export a corpus."),
    "index": ("cocite.cli.index:app", "Build and update index snapshots."),
    "embed": (
        "cocite_jobs.cli.embed:app",
        "Compute the papers' vectors, on one machine or on a Ray cluster.",
    ),
    "plan": ("cocite.cli.plan:app", "Compute what an index of a given size needs: machines, memory, time."),
    "model": ("cocite.cli.model:app", "Check and list the parts of a model folder."),
    "recommend": ("cocite.cli.recommend:app", "Recommend papers for the gaps of a draft."),
    "rank": ("cocite.cli.rank:app", "Rank papers for queries from a file; writes a TREC run."),
    "train": ("cocite_jobs.cli.train:app", "Train a model from a recipe."),
    "job": ("cocite_jobs.cli.job:app", "Run commands on a Ray cluster: submit, list, logs, stop."),
    "cache": ("cocite_jobs.cli.cache:app", "List and remove this machine's copies of what lies elsewhere."),
    "tune": ("cocite_tuning.cli:app", "Search hyperparameters: run a sweep, and show what it found."),
    "evaluate": ("cocite_jobs.cli.evaluate:app", "Measure a pipeline and print the papers' tables."),
    "reproduce": ("cocite_jobs.cli.reproduce:app", "Make a paper's tables and figures for a corpus."),
    "demo": ("cocite_jobs.cli.demo:app", "Run the whole chain on a corpus, as `make demo` does."),
    "serve": ("cocite_serve.cli:app", "Serve recommendations over HTTP, with a web page."),
    "keys": ("cocite_serve.cli_keys:app", "Make API keys for the endpoint."),
    "mcp": ("cocite_serve.cli_mcp:app", "Let agents ask for recommendations, over MCP."),
    "language-server": ("cocite_serve.cli_language_server:app", "Complete citations in editors, over LSP."),
}
"""Command -> (module:Typer app, one-line help)."""
GROUPS = ("corpus", "index", "model")
"""Commands with commands of their own that a mistyped line is looked up in; they load no Ray and no torch."""
INDEX_ON_RAY = "cocite_jobs.retrieval.ray_shards:open_on_ray"
"""What opens an index with its shards on Ray, for commands of the library, which imports no Ray itself."""
FETCH_LOCAL = "cocite_jobs.storage.cache:fetch_local"
"""What copies a folder that a URI names to this machine, likewise."""
FETCH_BODILESS = "cocite_jobs.storage.cache:fetch_bodiless"
"""What copies the corpus store that a URI names without its body sentences, likewise."""
RANK_ON_RAY = "cocite_jobs.steps.ranking.rank_file:rank_on_ray"
"""What ranks a file of queries in parts on Ray, likewise."""
IMPORT_ON_RAY = "cocite_jobs.steps.importing.import_corpus:import_on_ray"
"""What imports a corpus in parts on Ray, likewise."""
BUILD_ON_RAY = "cocite_jobs.steps.indexing.build_index:build_on_ray"
"""What builds an index in parts on Ray, likewise."""


class LazyGroup(click.Group):
    """A group that imports a command only when it is run or asked for help.

    Example:
        >>> import click
        >>> from cocite.cli import root
        >>> context = click.Context(root)
        >>> root.list_commands(context)[:3]
        ['corpus', 'index', 'embed']
        >>> root.get_command(context, "corpus").name  # imports cocite.cli.corpus
        'corpus'
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        import typer.main

        app: Any = getattr(importlib.import_module(module), attribute)
        # A command of this group has no completion of its own to install, and "[CIT]" in a help text is text.
        app._add_completion = False
        app.rich_markup_mode = None
        command: Any = typer.main.get_command(app)
        command.name = cmd_name
        return command  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> None:
        """Run the command. What its function returns is not an exit code, and is dropped."""
        super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, but name the nearest command for an unknown one."""
        from cocite.errors import nearest

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = self._within_group(ctx, args[0]) or nearest(args[0], COMMANDS)
            raise click.UsageError(f"no command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def _within_group(self, ctx: click.Context, name: str) -> str:
        """A hint where a command that works on a corpus, an index or a model was typed without that word; else ""."""
        found = [
            f"'cocite {group} {name}'"
            for group in GROUPS
            # Typer's groups are of its own copy of click.
            if name in getattr(self.get_command(ctx, group), "commands", ())
        ]
        return f"did you mean {' or '.join(found)}?" if found else ""


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Citation recommendation: import a corpus, train, index, evaluate, serve.",
    epilog="Exit codes: 0 done, 1 failed, 2 bad input, 3 damaged artifact, 4 in use by another process.",
)
@click.version_option(cocite.__version__, prog_name="cocite")
def root() -> None:
    """The group that holds all commands."""


def main(args: list[str] | None = None) -> None:
    """Run the command line. A user's mistake is printed as one sentence on standard error, without a traceback.

    With ``COCITE_TRACEBACK=1`` in the environment every error keeps its traceback.
    """
    # Threads of OpenMP (torch, LightGBM, FAISS) sleep while they wait, instead of spinning on a core that another
    # process could use: a third less time on a busy machine. The libraries read this when they load.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # a caller may have closed it, as with `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 it stays open until Python ends
    with noted_stops() as stops:
        try:
            code = root.main(args=args, standalone_mode=False)
            sys.stdout.flush()  # a full disk or a closed pipe shows here, not as a traceback when Python ends
        except Exception as error:
            if os.environ.get("COCITE_TRACEBACK"):
                raise
            if stops and type(error).__name__ != "Exit":  # the command has said itself how it ends
                _exit("stopped", stops[0])
            _report_error(error)
            raise
        except KeyboardInterrupt:
            _exit("stopped", INTERRUPTED)
    if code:
        sys.exit(code)


def _report_error(error: Exception) -> None:
    """Print a user's mistake and exit; return where the error is a defect of cocite."""
    if isinstance(error, CociteError):
        _exit(str(error), error.exit_code)
    if isinstance(error, OSError):
        # No permission, no space, not a folder: the system's own message says what is wrong.
        reason = error.strerror or str(error) or type(error).__name__
        if error.filename is None:
            _discard_output()
            _exit(reason, 1)
        _exit(f"{os.fsdecode(error.filename)}: {reason}", 1)
    if isinstance(error, MemoryError):
        _exit(f"not enough memory: {error}" if str(error) else "not enough memory", 1)
    # Typer may carry its own copy of click, so its classes are recognised by their names and methods.
    name = type(error).__name__
    if name == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        sys.exit(2)
    if name == "Abort":
        _exit("stopped", INTERRUPTED)
    if name == "Exit":
        sys.exit(getattr(error, "exit_code", 0))
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        context = getattr(error, "ctx", None)
        usage = f"\n{context.get_usage()}" if context is not None else ""
        _exit(error.format_message() + usage, error.exit_code)


def _discard_output() -> None:
    """Drop what standard output could not take, or Python would try again, and complain, when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _exit(message: str, code: int) -> NoReturn:
    print(f"cocite: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
