"""Embedding papers on a CPU: cocite's sentence encoder and sentence-transformers' ``encode``, in one run.

    python -m benchmarks.embedding --corpus STORE [--texts 2000] [--json benchmarks/results/embedding.json]

Titles and abstracts of papers that are drawn at random; without --corpus of a synthetic corpus. Both load one folder,
by default all-MiniLM-L6-v2, and read as many tokens of a text as it says. A third system is Hugging Face's padded
forward inside cocite (:class:`cocite.systems.sentence_encoder.forward.PaddedForward`), which other architectures than
BERT's use: the gap to it is what the packed kernels gain.

The systems take turns, block by block of --block texts, so that a machine's other work disturbs all alike. Each time
counts from texts to vectors, tokenization included. CPU seconds are given beside the wall's: a busy machine disturbs
them least. FLOPs are those of the dense layers and of attention without padding; the peak is what a square matrix
product reaches on one core, by its CPU seconds, as the best of many between the blocks. `share` divides the FLOPs of a
CPU second by it. The latency is that of one short text, as a query has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig
from transformers.utils import logging

from benchmarks._measured_process import processor
from benchmarks.cross_encoder_scoring import minilm
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.nn.layer_flops import layer_flops
from cocite.systems.sentence_encoder.encoder import SentenceEncoder, load_sentence_encoder
from cocite.systems.sentence_encoder.forward import PaddedForward
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite_jobs.steps.embedding.peak import core_peak

NEAR = 1e-5
"""Largest difference of a component from the peer's."""
QUERY = "neural models for the recommendation of citations"

System = Callable[[list[str]], NDArray[np.float32]]


def draw_texts(corpus: Corpus, count: int, encoder: SentenceEncoder) -> list[str]:
    """Title and abstract of papers drawn at random, as the encoder reads them."""
    rows = np.random.default_rng(0).permutation(len(corpus))[:count].astype(np.int32)
    pairs = zip(corpus.papers.take("title", rows), corpus.papers.take("abstract", rows), strict=True)
    separator = encoder.settings.separator
    texts = [
        separator.join(filter(None, ((title or "").strip(), (text or "").strip()))) for title, text in pairs
    ]
    return [text for text in texts if text]


def count_flops(config: Any, lengths: NDArray[np.int64]) -> float:
    """FLOPs of the layers without padding."""
    size = {"hidden": config.hidden_size, "inner": config.intermediate_size}
    squares = float((lengths.astype(float) ** 2).sum())
    return float(config.num_hidden_layers * layer_flops(float(lengths.sum()), squares, **size))


def systems_of(model: Path, artifact: Path) -> tuple[SentenceEncoder, dict[str, System]]:
    """cocite, cocite with Hugging Face's forward, and the peer: each maps texts to unit vectors."""
    from sentence_transformers import SentenceTransformer

    save_sentence_encoder(artifact, SentenceRecipe(encoder=str(model)), {})
    ours, padded = (load_sentence_encoder(artifact, dtype=torch.float32) for _ in range(2))
    peer = SentenceTransformer(str(model), device="cpu")
    padded.forward = PaddedForward(
        peer[0].auto_model, ours.settings.pooling, ours.tokenizer.pad_token_id or 0
    )
    return ours, {
        "cocite": lambda texts: ours.encode(texts, ours.settings.document_prompt),
        "Hugging Face's forward": lambda texts: padded.encode(texts, ours.settings.document_prompt),
        "sentence-transformers": lambda texts: peer.encode_document(
            texts, normalize_embeddings=True, show_progress_bar=False
        ),
    }


def measure(options: argparse.Namespace, corpus: Corpus, scratch: Path) -> dict[str, Any]:
    """All systems, taking turns."""
    torch.set_num_threads(options.threads)
    ours, systems = systems_of(options.model or minilm(), scratch / "sentence")
    texts = draw_texts(corpus, options.texts, ours)
    ids = ours.tokenizer(texts, truncation=True, max_length=ours.settings.max_tokens)["input_ids"]
    lengths = np.array([len(tokens) for tokens in ids], np.int64)
    flops, tokens = count_flops(AutoConfig.from_pretrained(scratch / "sentence"), lengths), int(lengths.sum())
    wall, cpu = (dict.fromkeys(systems, 0.0) for _ in range(2))
    latency: dict[str, list[float]] = {name: [] for name in systems}
    found: dict[str, list[NDArray[np.float32]]] = {name: [] for name in systems}
    for system in systems.values():
        system(texts[:8])
    peak = core_peak()
    for start in range(0, len(texts), options.block):
        for name, system in systems.items():
            before, before_cpu = time.perf_counter(), time.process_time()
            found[name].append(system(texts[start : start + options.block]))
            wall[name] += time.perf_counter() - before
            cpu[name] += time.process_time() - before_cpu
        peak = max(peak, core_peak())
    for _ in range(options.queries):
        for name, system in systems.items():
            before = time.perf_counter()
            system([QUERY])
            latency[name].append(time.perf_counter() - before)
    peer = np.concatenate(found["sentence-transformers"])
    rows = [
        {
            "system": name,
            "seconds": round(wall[name], 2),
            "cpu_seconds": round(cpu[name], 2),
            "texts_per_s": round(len(texts) / wall[name], 1),
            "texts_per_cpu_s": round(len(texts) / cpu[name], 1),
            "tokens_per_cpu_s": round(tokens / cpu[name]),
            "gflop_per_cpu_s": round(flops / cpu[name] / 1e9, 1),
            "share": round(flops / cpu[name] / peak, 3),
            "largest_difference": float(np.abs(np.concatenate(found[name]) - peer).max()),
            "query_ms": round(statistics.median(latency[name]) * 1e3, 2),
        }
        for name in systems
    ]
    return {
        "texts": len(texts),
        "tokens": {"all": tokens, "mean": round(float(lengths.mean()), 1), "most": int(lengths.max())},
        "gflop": round(flops / 1e9, 1),
        "peak_gflop_per_cpu_s": round(peak / 1e9, 1),
        "rows": rows,
        "ratios": {
            name: {"wall": round(wall[name] / wall["cocite"], 2), "cpu": round(cpu[name] / cpu["cocite"], 2)}
            for name in systems
            if name != "cocite"
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="a corpus store")
    parser.add_argument("--model", type=Path, help="a sentence encoder's folder; by default all-MiniLM-L6-v2")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--block", type=int, default=250, help="texts that a system embeds in its turn")
    parser.add_argument("--queries", type=int, default=50, help="runs of the single text")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        corpus = (
            Corpus.open(options.corpus)
            if options.corpus
            else build(Synthetic(2000), Path(scratch) / "corpus")
        )
        report = measure(options, corpus, Path(scratch))
    print(
        f"{report['texts']:,} texts of {report['tokens']['mean']} tokens, {report['gflop']:,} GFLOP, a core's peak "
        f"{report['peak_gflop_per_cpu_s']} GFLOP/s\n"
    )
    columns = list(report["rows"][0])
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in report["rows"]:
        cells = (f"{row[c]:.3g}" if isinstance(row[c], float) else str(row[c]) for c in columns)
        print("| " + " | ".join(cells) + " |")
    for name, times in report["ratios"].items():
        print(f"against {name}: {times['wall']:.2f} times as fast (CPU seconds: {times['cpu']:.2f})")
    for row in report["rows"]:
        if row["largest_difference"] > NEAR:
            print(f"{row['system']}: TOO FAR from the peer, must be within {NEAR}")
    if options.json:
        report |= {
            "date": datetime.now(UTC).date().isoformat(),
            "cpu": processor(),
            "threads": options.threads,
            "block": options.block,
            "load_at_start": round(load, 1),
            "torch": torch.__version__,
        }
        options.json.parent.mkdir(exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
