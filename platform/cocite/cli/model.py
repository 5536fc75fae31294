"""``cocite model``: check, list and publish the parts of a model folder, and make its golden queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cocite.artifacts import verify as verify_artifact
from cocite.cli.console import out, print_json, print_table
from cocite.cli.locations import INPUT, with_local_paths
from cocite.cli.model_repository import export, import_
from cocite.cli.options import JsonOption, ModelArgument
from cocite.errors import InputError, NotFoundError
from cocite.manifests import MANIFEST, Manifest, read_manifest

app = typer.Typer(
    help="Check, list and publish the parts of a model folder, and make its golden queries.",
    no_args_is_help=True,
)
app.command("export")(export)
app.command("import")(import_)


@app.command()
def verify(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Check every file of every part against its SHA-256; a damaged one is named."""
    facts = [_facts(path, verify_artifact(path)) for path in _parts(model)]
    if as_json:
        print_json({"ok": True, "parts": facts})
        return
    for part in facts:
        files, size = part["files"], part["bytes"]
        out.print(
            f"{part['part']}: {files} files, {size / 1e6:,.1f} MB, undamaged (version {part['version']})"
        )


@app.command("list")
def list_(model: ModelArgument, as_json: JsonOption = False) -> None:
    """List the parts with their versions, the corpora they were trained on, and their dev metrics."""
    facts = [_facts(path, read_manifest(path)) for path in _parts(model)]
    if as_json:
        print_json(facts)
        return
    columns = ["part", "kind", "MB", "version", "corpus", "dev metrics"]
    rows = [
        (
            part["part"],
            part["kind"],
            f"{part['bytes'] / 1e6:,.1f}",
            part["version"],
            part["corpus"] or "–",
            ", ".join(f"{name} {value:.3f}" for name, value in part["dev"].items()) or "–",
        )
        for part in facts
    ]
    print_table(str(model), columns, rows)


@app.command()
@with_local_paths
def golden(
    model: ModelArgument,
    index: Annotated[Path, typer.Option(**INPUT, help="Index whose papers ask, and are found.")],
    number: Annotated[
        int, typer.Option(min=2, max=1000, help="How many queries: half gaps in a text, half whole papers.")
    ] = 8,
    as_json: JsonOption = False,
) -> None:
    """Keep a few queries and the model's answers with it, which an endpoint compares before it serves the model."""
    from cocite.pipeline.golden_queries import FOLDER, make_golden_queries  # imports models

    kept = make_golden_queries(model, index, number)
    seconds = read_manifest(model / FOLDER).meta["seconds"]
    if as_json:
        print_json({"part": FOLDER, "queries": len(kept.queries), "model": kept.model, "seconds": seconds})
        return
    out.print(
        f"{model / FOLDER}: {len(kept.queries)} golden queries of model {kept.model}, {seconds:g} s each"
    )


def _parts(model: Path) -> list[Path]:
    """The artifacts of a model folder in order of their names; the folder itself where it is one."""
    if not model.is_dir():
        raise NotFoundError("no such model folder", where=str(model))
    if (model / MANIFEST).is_file():
        kind = read_manifest(model).kind
        if kind in ("corpus", "index"):
            hint = f"cocite {kind} verify"
            raise InputError(f"is a {kind}, not a model or a part of one", where=str(model), hint=hint)
        return [model]
    # What begins with a dot is what a training or a publication has not ended.
    parts = [path for path in sorted(model.glob("[!.]*")) if (path / MANIFEST).is_file()]
    if not parts:
        raise NotFoundError("holds no model", where=str(model), hint="train one: cocite train nnselect …")
    return parts


def _facts(path: Path, manifest: Manifest) -> dict[str, Any]:
    """Describe a part. Its dev metrics are those of the manifest but for seconds and the training loss."""
    dev = manifest.meta.get("dev", {})
    return {
        "part": path.name,
        "kind": manifest.kind,
        "version": manifest.digest,
        "files": len(manifest.files),
        "bytes": manifest.size,
        "corpus": manifest.meta.get("corpus"),
        "dev": {name: value for name, value in dev.items() if name not in ("loss", "seconds")},
    }
