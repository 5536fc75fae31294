from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args, get_origin

import pytest
import typer
from typer.testing import CliRunner

from cocite.cli.options import SampleOption, SeedOption
from cocite_jobs.cli import options


def test_each_option_has_a_help_text_that_ends_as_a_sentence() -> None:
    texts = {
        name: get_args(value)[1].help
        for name, value in vars(options).items()
        if get_origin(value) is Annotated
    }
    assert len(texts) >= 8
    assert [name for name, text in texts.items() if not text or not text.endswith((".", "]."))] == []
    assert options.ALIAS in texts["RegisterOption"]


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ([], "test None 0 True ."),
        (
            ["--sample", "5", "--seed", "3", "--split", "dev", "--no-track", "--tracking", "x"],
            "dev 5 3 False x",
        ),
        (["--sample", "0"], None),
        (["--seed", "-1"], None),
    ],
)
def test_options_of_evaluations_are_parsed_within_their_bounds(
    arguments: list[str], printed: str | None
) -> None:
    app = typer.Typer()

    @app.command()
    def command(
        split: options.SplitOption = "test",
        sample: SampleOption = None,
        seed: SeedOption = 0,
        track: options.TrackOption = True,
        tracking: options.TrackingOption = Path("."),
    ) -> None:
        typer.echo(f"{split} {sample} {seed} {track} {tracking}")

    result = CliRunner().invoke(app, arguments)
    if printed is None:
        assert result.exit_code == 2
    else:
        assert result.stdout == f"{printed}\n"
