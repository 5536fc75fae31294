"""``cocite model export`` and ``import``: a model folder as a repository of the Hugging Face hub, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cocite.cli.console import out, print_json, print_warnings
from cocite.cli.locations import ARGUMENT, INPUT, OUTPUT, name_of, shown, with_local_paths
from cocite.cli.options import JsonOption, ReplaceOption


@with_local_paths
def export(
    model: Annotated[
        Path, typer.Argument(**ARGUMENT, metavar="MODEL", help="A model folder, or one part of it.")
    ],
    to: Annotated[Path, typer.Option("--to", **OUTPUT, help="Folder to write.")],
    license_: Annotated[
        str | None,
        typer.Option(
            "--license", metavar="ID", help="License, as apache-2.0 [default: the card names none]."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the model [default: that of the folder written].")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name of the corpus on the hub; may be given several times."),
    ] = None,
    base_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name on the hub of the weights that the training began from [default: as the recipes name them].",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            **INPUT, help="Corpus that the model was trained on: the card gives its size and years."
        ),
    ] = None,
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a model as a repository of the Hugging Face hub, with a model card.

    Each part of a model folder gets a subfolder; one part alone gets the top folder, where transformers and
    sentence-transformers look for it. Nothing is uploaded: hf upload USER/NAME FOLDER does that.
    """
    from cocite.corpus.store import Corpus
    from cocite.pipeline.huggingface.card import CardOptions
    from cocite.pipeline.huggingface.repository import export_model

    options = CardOptions(
        name=name or name_of(to) or "model",
        license=license_,
        datasets=tuple(dataset or ()),
        base_model=base_model,
        corpus=Corpus.open(corpus) if corpus is not None else None,
    )
    made = export_model(model, to, options, replace=replace)
    if made.paths:
        print_warnings(
            f"the manifests, which are published, name paths of this machine: {', '.join(made.paths)}"
        )
    if as_json:
        print_json({"to": shown(to), "parts": made.forms, "left_out": made.left_out, "paths": made.paths})
        return
    for part, form in made.forms.items():
        out.print(f"{part}: {form}")
    if made.left_out:
        out.print(f"left out, as they hold texts of the corpus or are made again: {', '.join(made.left_out)}")
    if options.license is None:
        out.print("README.md names no license: --license names one")


@with_local_paths
def import_(
    source: Annotated[
        Path, typer.Argument(**ARGUMENT, metavar="FOLDER", help="A clone or a download of an exported model.")
    ],
    to: Annotated[
        Path,
        typer.Option(
            "--to", **OUTPUT, help="Model folder to make; that of the part where the top folder is one part."
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Make a model folder of what cocite model export wrote; every file is compared with its SHA-256."""
    from cocite.pipeline.huggingface.repository import import_model

    names = import_model(source, to)
    if as_json:
        print_json({"to": shown(to), "parts": names})
        return
    out.print(f"{shown(to)}: {', '.join(names)}, undamaged")
