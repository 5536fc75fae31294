"""The sentence encoder in fp32 and in integers, in turn in one process: a query asked alone, and a corpus' texts.

    python -m benchmarks.encoder_precision INDEX --model DIR [--queries 40] [--texts 512]

CPU milliseconds of one thread: of the whole first stage (all papers scored) and of the encoder's forward pass in it.
Medians, and the 10th percentile, which a busy machine disturbs less. Then tokens a CPU second over titles and
abstracts, with the cosines of their vectors in int8 with those in fp32; and GFLOP/s of square products at best. Where
attention beside int8 layers is in bf16, there is a row with it in fp32, too.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from functools import partial
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

FP32, INT8, PLAIN = "fp32", "int8", "int8, attention in fp32"


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
    load = partial(load_sentence_encoder, Path(options.model, "sentence"))
    encoders = {FP32: load(dtype=torch.float32), INT8: load(dtype=torch.int8)}
    if encoders[INT8].forward.bert.attention != torch.float32:
        encoders[PLAIN] = load(dtype=torch.int8)
        encoders[PLAIN].forward.bert.attention = torch.float32
    peaks = {str(d): round(core_peak(d, 9) / 1e9) for d in (torch.float32, torch.bfloat16, torch.int8)}
    print("GFLOP/s of square products:", peaks)
    for kind in TASKS:
        known = build(index.corpus, kind, sample=options.queries).queries
        new: list[Query] = [replace(query, paper=NO_ROW) for query in known]
        for name, queries in (("known", known), ("new", new)):
            spent: dict[str, list[tuple[float, float]]] = {name: [] for name in encoders}
            for query in (*queries[:3], *queries):
                for precision, encoder in encoders.items():
                    used.forward = timed = TimedForward(encoder.forward)
                    start = time.process_time()
                    stage.retrieve([query], Options(depth=100))
                    spent[precision].append((time.process_time() - start, timed.spent))
            for precision, seconds in spent.items():
                (whole, least), (part, least_part) = (
                    1e3 * np.quantile(column, [0.5, 0.1]) for column in np.array(seconds[-len(queries) :]).T
                )
                print(
                    f"{kind}, {name}, {precision}: first stage {whole:.1f} ({least:.1f}), "
                    f"encoder {part:.1f} ({least_part:.1f})",
                    flush=True,
                )
    rows = np.random.default_rng(0).permutation(len(index.corpus))[: options.texts].astype(np.int32)
    vectors = {}
    for precision, encoder in encoders.items():
        start = time.process_time()
        made = encoder.embed_papers(index.corpus, rows)
        vectors[precision] = made.vectors
        print(
            f"{len(rows)} texts, {precision}: {made.tokens / (time.process_time() - start):.0f} tokens a CPU second"
        )
    for precision in list(vectors)[1:]:
        cosines = (vectors[FP32] * vectors[precision]).sum(1)
        print(f"cosine of {precision} with fp32: mean {cosines.mean():.4f}, least {cosines.min():.4f}")


if __name__ == "__main__":
    main()
