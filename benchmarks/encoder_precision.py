"""The sentence encoder in fp32 and in integers, in turn in one process: a query asked alone, and a corpus' texts.

    python -m benchmarks.encoder_precision INDEX --model DIR [--queries 40] [--texts 512]

CPU milliseconds of one thread: of the whole first stage (all papers scored) and of the encoder's forward pass in it.
Medians, and the 10th percentile, which a busy machine disturbs less. Then tokens a CPU second over titles and
abstracts, with the cosines of their vectors in int8 with those in fp32; and GFLOP/s of square products at best.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import torch
from numpy.typing import NDArray

from cocite.evaluation.tasks import TASKS, build
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.opening import open_index
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.forward import Forward
from cocite.text.token_lists import TokenLists
from cocite_jobs.steps.embedding.peak import core_peak

DTYPES = torch.float32, torch.int8


class TimedForward:
    """A forward pass that adds up its CPU seconds."""

    def __init__(self, own: Forward) -> None:
        self.own, self.spent = own, 0.0

    def vectors(self, texts: TokenLists) -> NDArray[np.float32]:
        start = time.process_time()
        result = self.own.vectors(texts)
        self.spent += time.process_time() - start
        return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index")
    parser.add_argument("--model", required=True)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--texts", type=int, default=512)
    options = parser.parse_args()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    index = open_index(options.index)
    stage = Recommender.over(options.model, index).first
    stage.dense = True
    used = stage.signals.encoders["sentence"].encoder
    encoders = {
        dtype: load_sentence_encoder(Path(options.model, "sentence"), dtype=dtype) for dtype in DTYPES
    }
    peaks = {str(d): round(core_peak(d, 9) / 1e9) for d in (torch.float32, torch.bfloat16, torch.int8)}
    print("GFLOP/s of square products:", peaks)
    for kind in TASKS:
        known = build(index.corpus, kind, sample=options.queries).queries
        new: list[Query] = [replace(query, paper=NO_ROW) for query in known]
        for name, queries in (("known", known), ("new", new)):
            spent: dict[torch.dtype, list[tuple[float, float]]] = {dtype: [] for dtype in DTYPES}
            for query in (*queries[:3], *queries):
                for dtype, encoder in encoders.items():
                    used.forward = timed = TimedForward(encoder.forward)
                    start = time.process_time()
                    stage.retrieve([query], Options(depth=100))
                    spent[dtype].append((time.process_time() - start, timed.spent))
            for dtype, seconds in spent.items():
                (whole, least), (part, least_part) = (
                    1e3 * np.quantile(column, [0.5, 0.1]) for column in np.array(seconds[-len(queries) :]).T
                )
                print(
                    f"{kind}, {name}, {dtype}: first stage {whole:.1f} ({least:.1f}), "
                    f"encoder {part:.1f} ({least_part:.1f})",
                    flush=True,
                )
    rows = np.random.default_rng(0).permutation(len(index.corpus))[: options.texts].astype(np.int32)
    vectors = {}
    for dtype, encoder in encoders.items():
        start = time.process_time()
        made = encoder.embed_papers(index.corpus, rows)
        vectors[dtype] = made.vectors
        print(
            f"{len(rows)} texts, {dtype}: {made.tokens / (time.process_time() - start):.0f} tokens a CPU second"
        )
    cosines = (vectors[torch.float32] * vectors[torch.int8]).sum(1)
    print(f"cosine of int8 with fp32: mean {cosines.mean():.4f}, least {cosines.min():.4f}")


if __name__ == "__main__":
    main()
