"""What the encoders' forward passes take of a query's time, and how near to the processor's limit they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from transformers import AutoConfig

from benchmarks.embedding import count_flops
from cocite.protocols import Encoder, Query
from cocite.systems.sentence_encoder.encoder import SentenceEncoder
from cocite_jobs.steps.embedding.peak import core_peak

METHODS = ("encode_queries", "encode_manuscripts")


def encoder_times(
    ask: Callable[[Query], Any], queries: Sequence[Query], encoders: Sequence[Encoder]
) -> dict[str, float]:
    """By encoder, the median of the milliseconds of its forward passes in one query asked alone."""
    spent: dict[str, list[float]] = {encoder.name: [] for encoder in encoders}
    for encoder in encoders:
        for method in METHODS:
            if hasattr(encoder, method):
                setattr(encoder, method, _timed(getattr(encoder, method), spent[encoder.name]))
    try:
        for query in queries:
            for seconds in spent.values():
                seconds.append(0.0)
            ask(query)
    finally:
        for encoder in encoders:
            for method in METHODS:
                vars(encoder).pop(method, None)
    return {name: 1e3 * float(np.median(seconds)) for name, seconds in spent.items()}


def _timed(method: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """The method; it adds what a call takes to the last of some seconds."""

    def call(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return method(*arguments)
        finally:
            seconds[-1] += time.perf_counter() - start

    return call


def sentence_limit(encoder: SentenceEncoder, folder: str, queries: Sequence[Query]) -> dict[str, float]:
    """Tokens and GFLOP of a sentence encoder's passes for a query, and the milliseconds of these at the peak.

    The peak is what a square matrix product reaches on one core, in the precision that the encoder computes in.
    """
    config, made = AutoConfig.from_pretrained(folder), []
    for query in queries:
        manuscript = encoder._document(query.title, query.abstract)
        texts = [query.context, manuscript] if query.is_local else [manuscript]
        tokens = encoder.tokenizer(texts, truncation=True, max_length=encoder.settings.max_tokens)[
            "input_ids"
        ]
        lengths = np.array([len(numbers) for numbers in tokens], np.int64)
        made.append((lengths.sum(), count_flops(config, lengths)))
    words, flops = np.median(np.array(made), axis=0)
    return {
        "tokens": float(words),
        "gflop": float(flops) / 1e9,
        "peak ms": 1e3 * float(flops) / core_peak(encoder.dtype),
    }
