"""``cocite index``: build, grow, shrink and check index snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cocite.cli import FETCH_LOCAL
from cocite.cli.console import out, print_json, print_note, print_table, print_warnings, progress_bar
from cocite.cli.locations import ARGUMENT, OUTPUT, shown, with_local_paths
from cocite.cli.options import EncodersOption, IndexArgument, JsonOption, KeepOption, NoVerifyOption
from cocite.errors import NotFoundError

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus
    from cocite.protocols import Encoder
    from cocite.retrieval.index.opening import SavedIndex

app = typer.Typer(help="Build and update index snapshots.", no_args_is_help=True)


@app.command()
@with_local_paths
def build(
    corpus: Annotated[Path, typer.Argument(**ARGUMENT, help="A corpus store.")],
    to: Annotated[
        Path,
        typer.Option(**OUTPUT, help="Index folder; a present index gets a new version."),
    ],
    model: EncodersOption = None,
    known_until: Annotated[
        int | None,
        typer.Option(
            metavar="YEAR",
            min=0,
            max=9999,
            help="Links and contexts of later papers do not count [default: all count].",
        ),
    ] = None,
    before_split: Annotated[
        str | None,
        typer.Option(
            metavar="SPLIT",
            help="Only links and contexts count that may be known when a split is judged: test, those of train and "
            "dev; dev, those of train. Of a corpus split by year, those of all earlier papers.",
        ),
    ] = None,
    vectors: Annotated[str, typer.Option(help="auto, flat, ivf, ivfpq or hnsw.")] = "auto",
    vectors_from: Annotated[
        str | None,
        typer.Option(
            metavar="VECTORS",
            help="Vectors that `cocite embed` made of this corpus, by their folder or URI: they are not made again.",
        ),
    ] = None,
    bm25: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD.KEY=VALUE",
            help="k1 or b of BM25 over the papers' text (title and abstract), title or abstract, as text.k1=2; any "
            "number [default: k1 1.2, b 0.75]. A learned fusion is refused over an index whose k1 and b are not those "
            "of the index that it was trained on.",
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="Divide the index into so many parts, which machines can search side by side [default: one for every "
            "2.5 million papers].",
        ),
    ] = None,
    keep: KeepOption = 2,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Index a corpus: BM25 of papers and citation contexts, and vectors when a model is given."""
    from cocite.corpus.cold_history import cold_history
    from cocite.corpus.history import known_history
    from cocite.corpus.store import Corpus
    from cocite.retrieval.engines.bm25_fields import Bm25Fields
    from cocite.retrieval.index.shard_ranges import choose_count
    from cocite.retrieval.index.sharded_index import ShardedIndex
    from cocite.retrieval.index.snapshot import IndexSnapshot

    parameters = Bm25Fields.from_options(bm25 or [], option="--bm25")
    store, encoders = Corpus.open(corpus), _encoders(model)
    if vectors_from is not None:
        encoders = _with_stored_vectors(encoders, vectors_from, store)
    before = _current_bm25(to)
    known = known_history(store, known_until=known_until, before_split=before_split)
    print_warnings(cold_history(known, "whose links this index may know", "give a later year or split"))
    texts = len(store) * (2 + len(encoders)) + len(
        known.contexts
    )  # titles and abstracts, and each for a vector
    count = choose_count(len(store)) if shards is None else shards
    with progress_bar("indexing texts", total=texts) as advance:
        settings: dict[str, Any] = {
            "known_until": known_until,
            "before_split": before_split,
            "encoders": encoders,
            "bm25": parameters,
            "vector_kind": vectors,
            "keep": keep,
            "advance": advance,
        }
        if count == 1:
            index: SavedIndex = IndexSnapshot.create(store, to, **settings)
        else:
            index = ShardedIndex.create(store, to, shards=count, **settings)
    _print_version(index, to, as_json)
    if before and not bm25:
        options = " ".join(f"--bm25 {name}={value}" for name, value in before.items())
        print_note(f"BM25 has its usual k1 and b; the version before had {options}")


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
            index, stream, encoders=_encoders(model), rejects=rejects, keep=keep, advance=advance
        )
    _print_version(
        new,
        index,
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

    _print_version(remove_papers(index, ids, keep=keep), index, as_json, removed=len(set(ids)))


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
        typer.Option("--sizes", help="List the parts of the current version instead, with bytes per paper."),
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
            _vector_kinds(entry) or "none",
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
    from cocite.retrieval.index.sizes import part_sizes

    parts = part_sizes(index)
    if as_json:
        print_json([{**part._asdict(), "per_paper": round(part.per_paper, 1)} for part in parts])
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
    for name, chosen in (
        ("together", parts),
        ("in memory once open", [part for part in parts if part.loaded]),
    ):
        total = sum(part.bytes for part in chosen)
        rows.append((name, f"{total / 1e6:,.1f}", f"{total / max(parts[0].papers, 1):,.0f}", ""))
    print_table(str(index), ["part", "MB", "bytes a paper", "how"], rows)


def _encoders(model: Path | None) -> list[Encoder]:
    if model is None:
        return []
    from cocite.pipeline.components import ENCODERS, load_encoders

    encoders = load_encoders(model)
    if not encoders:
        raise NotFoundError(
            f"holds none of {', '.join(ENCODERS)}, so it makes no vectors",
            where=str(model),
            hint="leave out --model",
        )
    return encoders


def _with_stored_vectors(encoders: list[Encoder], source: str, corpus: Corpus) -> list[Encoder]:
    """The encoders, those of which there are stored vectors replaced by these."""
    from cocite.pipeline.components import import_object
    from cocite.retrieval.stored_vectors import open_stored_vectors, with_stored_vectors

    folder = import_object(FETCH_LOCAL)(source) if "://" in source else Path(source)
    return with_stored_vectors(encoders, open_stored_vectors(folder), corpus)


def _known_before(facts: dict[str, Any]) -> str:
    """The split before which a version's links end, as ``before test``; empty where it was built for none."""
    split = facts.get("before_split")
    return f"before {split}" if split else ""


def _current_bm25(root: Path) -> dict[str, float]:
    """k1 and b of an index' current version that are not the usual ones; none where there is no index."""
    from cocite.retrieval.index.snapshot import current_meta

    return dict(current_meta(root).get("bm25", {})) if (root / "CURRENT").is_file() else {}


def _vector_kinds(facts: dict[str, Any]) -> str:
    """The kinds of a version's vectors by encoder, as ``nnselect flat, sentence flat``."""
    kinds = facts["vectors"] or {}  # a version that an earlier cocite made names one kind, or none
    return kinds if isinstance(kinds, str) else ", ".join(f"{name} {kind}" for name, kind in kinds.items())


def _print_version(index: SavedIndex, root: Path, as_json: bool, **more: Any) -> None:
    facts = {"index": shown(root), "version": index.version, **index.manifest.meta, **more}
    if as_json:
        print_json(facts)
        return
    done = [f"{name} {more[name]:,}" for name in ("added", "removed") if name in more]
    hits = [f"{name} {count:,}" for name, count in more.get("rules", {}).items() if count]
    vectors = f", vectors: {_vector_kinds(facts)}" if facts["vectors"] else ""
    bm25 = "".join(f", {name} {value:g}" for name, value in facts["bm25"].items())
    shards = f", {len(facts['shards'])} shards" if facts.get("shards") else ""
    counts = f"{facts['alive']:,} papers, {facts['contexts']:,} contexts{shards}{vectors}{bm25}"
    out.print(f"{shown(root)}: version {index.version} is current: {counts}")
    if done or hits:
        out.print("; ".join([*done, *hits]))
    for entry in more.get("unknown_fields", []):
        meant = f"; did you mean {entry['suggestion']!r}?" if entry["suggestion"] else ""
        out.print(f"unknown field {entry['field']!r} of a {entry['record']} ({entry['count']:,}){meant}")
