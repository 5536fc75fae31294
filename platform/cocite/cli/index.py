"""``cocite index``: build, grow, shrink and check index snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cocite.cli.console import out, print_json, print_note, print_table, progress_bar
from cocite.cli.index_build import build, model_encoders, print_version, vector_kinds
from cocite.cli.locations import INPUT, shown, with_local_paths
from cocite.cli.options import (
    EncodersOption,
    IndexArgument,
    JsonOption,
    KeepOption,
    NoVerifyOption,
)

if TYPE_CHECKING:
    pass

app = typer.Typer(help="Build and update index snapshots.", no_args_is_help=True)
app.command()(build)


@app.command()
@with_local_paths
def add(
    index: IndexArgument,
    source: Annotated[
        Path, typer.Argument(help="A file or folder of new papers, in any format that import reads.")
    ],
    model: EncodersOption = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of the source [default: detected].")
    ] = None,
    rejects: Annotated[Path | None, typer.Option(help="File for records that break a rule.")] = None,
    keep: KeepOption = 2,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Add papers with their links and contexts: no training, and what is there is not read again.

    A search meanwhile reads the old version or the new one, whole. Word statistics stay those of the last
    build, so build again after the corpus has grown much. The id of a removed paper stays taken until then.
    """
    from cocite.corpus.importers import open_source
    from cocite.destinations import check_file_destination
    from cocite.retrieval.index.changes import add_papers
    from cocite.retrieval.index.snapshot import current_meta

    stream = open_source(source, format_)
    check_file_destination(rejects, source)
    before = int(current_meta(index)["papers"])
    with progress_bar("indexing new texts") as advance:
        new = add_papers(
            index, stream, encoders=model_encoders(model), rejects=rejects, keep=keep, advance=advance
        )
    print_version(
        new.version,
        new.manifest.meta,
        shown(index),
        as_json,
        added=len(new) - before,
        rules=new.corpus.counts.get("rules", {}),
        unknown_fields=new.corpus.manifest.meta.get("unknown_fields", []),
    )


@app.command()
def remove(
    index: IndexArgument,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of papers.")],
    keep: KeepOption = 2,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Remove papers: they are never found again, do not vote, and are no evidence.

    Word statistics stay those of the last build.
    """
    from cocite.retrieval.index.changes import remove_papers

    new = remove_papers(index, ids, keep=keep)
    print_version(new.version, new.manifest.meta, shown(index), as_json, removed=len(set(ids)))


@app.command()
@with_local_paths
def reembed(
    index: IndexArgument,
    model: Annotated[
        Path, typer.Option("--model", **INPUT, help="Model folder whose encoders make the vectors.")
    ],
    keep: KeepOption = 2,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Make the vectors of all papers anew with another model; what else the index holds stays.

    Papers that were added or removed stay so. Where the vectors are those of the model already, no version is made.
    An index in shards is built again instead, of vectors that `cocite embed` made.
    """
    from cocite.retrieval.index.changes import reembed_papers
    from cocite.retrieval.index.snapshot import current_meta
    from cocite.retrieval.index.versions import VersionedFolder

    encoders = model_encoders(model)
    present = current_meta(index)
    with progress_bar("encoding papers", total=int(present["papers"]) * len(encoders)) as advance:
        new = reembed_papers(index, encoders, keep=keep, advance=advance)
    if new is None:
        version = VersionedFolder(index).current()
        if not as_json:
            print_note("the vectors are those of the model, and no version is made")
        print_version(version, present, shown(index), as_json, encoded=[])
        return
    encoded = [
        name for name, id_ in new.encoder_ids.items() if present.get("encoder_ids", {}).get(name) != id_
    ]
    print_version(new.version, new.manifest.meta, shown(index), as_json, encoded=encoded)


@app.command()
def verify(
    index: IndexArgument,
    version: Annotated[str | None, typer.Option(help="A version [default: the current one].")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every file of a version against its SHA-256; a damaged one is named."""
    from cocite.retrieval.index.snapshot import verify_index

    manifest = verify_index(index, version)
    size = manifest.size
    if as_json:
        print_json({"ok": True, "digest": manifest.digest, "files": len(manifest.files), "bytes": size})
    else:
        out.print(
            f"{index}: {len(manifest.files)} files, {size / 1e6:,.1f} MB, undamaged ({manifest.digest})"
        )


@app.command("list")
def list_(
    index: IndexArgument,
    sizes: Annotated[
        bool,
        typer.Option(
            "--sizes",
            help="List the parts of the current version instead, with bytes per paper, and the memory that a process "
            "takes to open it.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the versions of an index with their sizes and counts."""
    from cocite.retrieval.index.snapshot import list_versions

    if sizes:
        _print_sizes(index, as_json)
        return
    versions = list_versions(index)
    if as_json:
        print_json(versions)
        return
    rows = [
        (
            f"{entry['version']}{' *' if entry['current'] else ''}",
            entry["created"],
            f"{entry['alive']:,} of {entry['papers']:,}",
            f"{entry['contexts']:,}",
            f"{len(entry.get('shards', ())) or 'none'}",
            entry["known_until"] or _known_before(entry) or "all",
            vector_kinds(entry) or "none",
            f"{entry['bytes'] / 1e6:,.1f}",
        )
        for entry in versions
    ]
    columns = [
        "version (* current)",
        "created",
        "papers",
        "contexts",
        "shards",
        "known until",
        "vectors",
        "MB",
    ]
    print_table(str(index), columns, rows)


def _print_sizes(index: Path, as_json: bool) -> None:
    """Print what each part of the current version takes."""
    from cocite.retrieval.index.sizes import opened_bytes, part_sizes

    parts, opened = part_sizes(index), opened_bytes(index)
    if as_json:
        of_parts = [{**part._asdict(), "per_paper": round(part.per_paper, 1)} for part in parts]
        print_json({"parts": of_parts, "opened_bytes": opened})
        return
    rows = [
        (
            part.part,
            f"{part.bytes / 1e6:,.1f}",
            f"{part.per_paper:,.0f}",
            "memory" if part.loaded else "mapped",
        )
        for part in parts
    ]
    totals = {"together": sum(part.bytes for part in parts)}
    if opened is not None:
        totals["memory of a process that opens it"] = opened
    rows += [
        (name, f"{total / 1e6:,.1f}", f"{total / max(parts[0].papers, 1):,.0f}", "")
        for name, total in totals.items()
    ]
    print_table(str(index), ["part", "MB", "bytes a paper", "how"], rows)


def _known_before(facts: dict[str, Any]) -> str:
    """The split before which a version's links end, as ``before test``; empty where it was built for none."""
    split = facts.get("before_split")
    return f"before {split}" if split else ""
