"""``cocite embed``: papers' vectors by the encoders of a model, in blocks that workers make side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cocite.cli.console import out, print_json, progress_bar
from cocite.cli.options import (
    AcceleratorOption,
    CpusOption,
    GpusOption,
    JsonOption,
    NoVerifyOption,
    RayAddressOption,
    WaitOption,
    WorkersOption,
)
from cocite_jobs.cli.options import WorkersOnOption, workers_of

if TYPE_CHECKING:
    from cocite_jobs.steps.embedding.embed import Embedded

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@app.command()
def embed(
    corpus: Annotated[str, typer.Argument(help="A corpus store, by its path or URI.")],
    model: Annotated[str, typer.Option(help="Model folder with the encoders, likewise.")],
    to: Annotated[
        str,
        typer.Option(
            help="Folder or URI of the vectors: a folder in it for each encoder. What was begun goes on."
        ),
    ],
    encoder: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An encoder; may be repeated [default: all of the model]."),
    ] = None,
    dtype: Annotated[
        Literal["float32", "float16"],
        typer.Option(
            help="Form of the stored components: float16 halves the files, and rounds to three digits."
        ),
    ] = "float32",
    on: WorkersOnOption = "process",
    address: RayAddressOption = None,
    workers: WorkersOption = None,
    cpus: CpusOption = 1.0,
    gpus: GpusOption = None,
    accelerator: AcceleratorOption = "",
    wait: WaitOption = False,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Compute the vectors of all papers, for `cocite index build --vectors-from`.

    Blocks of papers are made one after the other, or on a Ray cluster side by side, and never are all vectors in
    memory. An embedding that was interrupted goes on when the command is repeated.
    """
    from cocite.corpus.store import Corpus
    from cocite_jobs.steps.embedding.embed import choose_encoders, embed_corpus
    from cocite_jobs.storage.cache import fetch_bodiless, fetch_local

    who = workers_of(on, address, workers, cpus, gpus, accelerator=accelerator, wait=wait)
    names = choose_encoders(fetch_local(model), encoder or [])
    total = len(Corpus.open(fetch_bodiless(corpus))) * len(names)
    with progress_bar("encoding papers", total=total) as advance:
        found = embed_corpus(corpus, model, to, names=names, dtype=dtype, workers=who, advance=advance)
    if as_json:
        print_json({"vectors": to, "encoders": [_facts(entry) for entry in found]})
        return
    for entry in found:
        out.print(_sentence(entry))


def _facts(entry: Embedded) -> dict[str, Any]:
    effort = entry.effort
    return {
        "folder": entry.folder,
        **entry.meta,
        "bytes": entry.bytes,
        "made": effort.papers,
        "tokens": effort.tokens,
        "flops": effort.flops,
        "seconds": round(entry.seconds, 3),
        "worker_seconds": round(effort.seconds, 3),
        "cpu_seconds": round(effort.cpu_seconds, 3),
        **entry.rates,
    }


def _sentence(entry: Embedded) -> str:
    meta, effort, rates = entry.meta, entry.effort, entry.rates
    text = (
        f"{entry.folder}: {meta['rows']:,} vectors of {meta['dimension']} components in {meta['dtype']}, "
        f"{entry.bytes / 1e6:,.1f} MB"
    )
    if not effort.papers:
        return f"{text}; all were made before"
    earlier = meta["rows"] - effort.papers
    parts = [f"{earlier:,} made before"] if earlier else []
    parts.append(f"{rates['papers_per_s']:,.0f} papers/s")
    if "tokens_per_s" in rates:
        parts.append(f"{rates['tokens_per_s']:,.0f} tokens/s")
    if "mfu" in rates:
        parts.append(f"MFU {rates['mfu']:.1%}")
    return f"{text}; {', '.join(parts)}"
