"""``cocite index build``: in this process, or by workers of Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cocite.cli import BUILD_ON_RAY, FETCH_BODILESS, FETCH_LOCAL
from cocite.cli.console import out, print_json, print_note, print_warnings, progress_bar
from cocite.cli.locations import ARGUMENT, OUTPUT, shown, with_local_paths
from cocite.cli.options import (
    AcceleratorOption,
    CpusOption,
    EncodersOption,
    GpusOption,
    JsonOption,
    KeepOption,
    NoVerifyOption,
    RayAddressOption,
    WaitOption,
    WorkersOption,
    check_on_ray,
)
from cocite.errors import InputError, NotFoundError
from cocite.progress_bars import StagedBars

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus
    from cocite.protocols import Encoder
    from cocite.retrieval.engines.bm25_fields import Bm25Fields
    from cocite.retrieval.index.opening import SavedIndex


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
    papers_a_shard: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000_000,
            help="Divide the index into parts of at most so many papers each, instead of --shards.",
        ),
    ] = None,
    on: Annotated[
        Literal["process", "ray"],
        typer.Option(
            "--on",
            help="Build in this process, or the parts of an index in shards as tasks of Ray, where every machine of "
            "the cluster sees corpus, model and index under the same path or URI; when the command is repeated after "
            "an interrupt, such a build goes on.",
        ),
    ] = "process",
    address: RayAddressOption = None,
    workers: WorkersOption = None,
    cpus: CpusOption = 1.0,
    gpus: GpusOption = None,
    accelerator: AcceleratorOption = "",
    wait: WaitOption = False,
    keep: KeepOption = 2,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Index a corpus: BM25 of papers and citation contexts, and vectors when a model is given."""
    from cocite.retrieval.engines.bm25_fields import Bm25Fields

    given = {
        "--address": address is not None,
        "--workers": workers is not None,
        "--cpus": cpus != 1.0,
        "--gpus": gpus is not None,
        "--accelerator": bool(accelerator),
        "--wait": wait,
    }
    check_on_ray(on, given)
    if shards is not None and papers_a_shard is not None:
        raise InputError("is given beside --shards", where="--papers-a-shard", hint="give one of the two")
    count = partial(_shard_count, shards, papers_a_shard)
    settings: dict[str, Any] = {
        "known_until": known_until,
        "before_split": before_split,
        "bm25": Bm25Fields.from_options(bm25 or [], option="--bm25"),
        "vector_kind": vectors,
        "keep": keep,
    }
    if on == "ray":
        reserved = {"cpus": cpus, "gpus": gpus, "accelerator": accelerator}
        who = {"address": address, "count": workers, "wait": wait, **reserved}
        _build_on_ray(str(corpus), str(to), model, vectors_from, count, settings, who, as_json)
    else:
        _build_here(
            corpus=corpus,
            to=to,
            model=model,
            vectors_from=vectors_from,
            count=count,
            settings=settings,
            as_json=as_json,
        )


def _shard_count(shards: int | None, largest: int | None, papers: int) -> int:
    """How many shards papers are divided among, by --shards or --papers-a-shard."""
    from cocite.retrieval.index.shard_ranges import PAPERS, choose_count

    return choose_count(papers, largest or PAPERS) if shards is None else shards


@with_local_paths
def _build_here(
    corpus: Path,
    to: Path,
    model: Path | None,
    vectors_from: str | None,
    count: Callable[[int], int],
    settings: dict[str, Any],
    as_json: bool,
) -> None:
    """Build an index in this process."""
    from cocite.corpus.store import Corpus
    from cocite.retrieval.index.sharded_index import ShardedIndex
    from cocite.retrieval.index.snapshot import IndexSnapshot

    store = Corpus.open(corpus)
    shards = count(len(store))
    encoders = _chosen_encoders(model, vectors_from, store)
    before = _current_bm25(to)
    with _indexing(store, encoders, settings) as advance:
        options = {**settings, "encoders": encoders, "advance": advance}
        if shards == 1:
            index: SavedIndex = IndexSnapshot.create(store, to, **options)
        else:
            index = ShardedIndex.create(store, to, shards=shards, **options)
    print_version(index.version, index.manifest.meta, shown(to), as_json)
    _note_bm25(before, settings["bm25"])


def _build_on_ray(
    corpus: str,
    to: str,
    model: Path | None,
    vectors_from: str | None,
    count: Callable[[int], int],
    settings: dict[str, Any],
    who: dict[str, Any],
    as_json: bool,
) -> None:
    """Build an index by workers of Ray, who read and write what lies elsewhere themselves."""
    from cocite.corpus.store import Corpus
    from cocite.pipeline.components import import_object

    fetch = import_object(FETCH_LOCAL)
    store = Corpus.open(import_object(FETCH_BODILESS)(corpus))
    shards = count(len(store))
    encoders = _chosen_encoders(None if model is None else fetch(str(model)), vectors_from, store)
    before = {} if "://" in to else _current_bm25(Path(to))
    with _indexing(store, encoders, settings) as advance:
        built = import_object(BUILD_ON_RAY)(
            corpus,
            to,
            shards=shards,
            encoders=encoders,
            model=None if model is None else str(model),
            vectors_from=vectors_from,
            advance=advance,
            **who,
            **settings,
        )
    print_version(built.version, built.meta, to, as_json)
    _note_bm25(before, settings["bm25"])


@contextmanager
def _indexing(
    store: Corpus, encoders: list[Encoder], settings: dict[str, Any]
) -> Iterator[Callable[[int], None]]:
    """A bar over all texts that an index is made of, and what follows; a history without links is told first."""
    from cocite.corpus.cold_history import cold_history
    from cocite.corpus.history import known_history

    known = known_history(store, known_until=settings["known_until"], before_split=settings["before_split"])
    print_warnings(cold_history(known, "whose links this index may know", "give a later year or split"))
    # Titles and abstracts, and each paper for a vector.
    contexts = int(known.citing[store.context_citing].sum())
    texts = len(store) * (2 + len(encoders)) + contexts
    with StagedBars(progress_bar) as progress:
        progress.stage("indexing texts", texts)
        left = texts

        def advance(count: int) -> None:
            nonlocal left
            progress.advance(count)
            left -= count
            if left <= 0 < count:
                # Of a million papers this takes as long as the reading did, and nothing counts it.
                progress.stage("ordering and writing what was read", 0)

        yield advance


def _chosen_encoders(model: Path | None, vectors_from: str | None, store: Corpus) -> list[Encoder]:
    encoders = model_encoders(model)
    return encoders if vectors_from is None else _with_stored_vectors(encoders, vectors_from, store)


def _note_bm25(before: dict[str, float], chosen: Bm25Fields) -> None:
    """Say that k1 and b of the version before are not those of the new one."""
    if before and not chosen.changed():
        options = " ".join(f"--bm25 {name}={value}" for name, value in before.items())
        print_note(f"BM25 has its usual k1 and b; the version before had {options}")


def model_encoders(model: Path | None) -> list[Encoder]:
    """The encoders of a model folder; none where no folder is given.

    Raises:
        NotFoundError: it holds none.
    """
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


def _current_bm25(root: Path) -> dict[str, float]:
    """k1 and b of an index' current version that are not the usual ones; none where there is no index."""
    from cocite.retrieval.index.snapshot import current_meta

    return dict(current_meta(root).get("bm25", {})) if (root / "CURRENT").is_file() else {}


def vector_kinds(facts: dict[str, Any]) -> str:
    """The kinds of a version's vectors by encoder, as ``nnselect flat, sentence flat``."""
    kinds = facts["vectors"] or {}  # a version that an earlier cocite made names one kind, or none
    return kinds if isinstance(kinds, str) else ", ".join(f"{name} {kind}" for name, kind in kinds.items())


def print_version(version: str, meta: dict[str, Any], root: str, as_json: bool, **more: Any) -> None:
    """Print what a new version of an index holds.

    Args:
        version: its name.
        meta: of its manifest.
        root: the index, as the user named it.
        as_json: as an object.
        more: what the command did.
    """
    facts = {"index": root, "version": version, **meta, **more}
    if as_json:
        print_json(facts)
        return
    done = [f"{name} {more[name]:,}" for name in ("added", "removed") if name in more]
    hits = [f"{name} {count:,}" for name, count in more.get("rules", {}).items() if count]
    vectors = f", vectors: {vector_kinds(facts)}" if facts["vectors"] else ""
    bm25 = "".join(f", {name} {value:g}" for name, value in facts["bm25"].items())
    shards = f", {len(facts['shards'])} shards" if facts.get("shards") else ""
    counts = f"{facts['alive']:,} papers, {facts['contexts']:,} contexts{shards}{vectors}{bm25}"
    out.print(f"{root}: version {version} is current: {counts}")
    if done or hits:
        out.print("; ".join([*done, *hits]))
    for entry in more.get("unknown_fields", []):
        meant = f"; did you mean {entry['suggestion']!r}?" if entry["suggestion"] else ""
        out.print(f"unknown field {entry['field']!r} of a {entry['record']} ({entry['count']:,}){meant}")
