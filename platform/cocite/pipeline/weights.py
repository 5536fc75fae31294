"""Weights of the first stage's blend: signal -> weight, each signal scaled to 1 for the query's best paper.

Found by coordinate ascent on the recall of the ACL corpus' dev split with the history before it
(``benchmarks/first_stage.py``); since every signal is scaled, they carry over to other corpora. A signal whose encoder
is not there is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

LOCAL_WEIGHTS: dict[str, float] = {
    "hatten": 1.2,
    "mp-bert4cr": 0.8,
    "nnselect": 0.4,
    "sentence": 0.5,
    "sentence:manuscript": 0.1,
    "whole>text": 0.8,
    "title>title": 0.4,
    "title>text": 0.1,
    "whole>anchors": 0.1,
    "context>text": 0.4,
    "context>title": 0.1,
    "context>anchors": 0.1,
    "near>title": 0.2,
    "near>anchors": 0.1,
    "sentences": 0.5,
    "sentences:cubes": 0.2,
    "near-sentences": 0.4,
    "cites-neighbours": 0.4,
    "shared-authors": 0.8,
    "names": 0.4,
}
GLOBAL_WEIGHTS: dict[str, float] = {
    "hatten": 0.1,
    "nnselect": 0.3,
    "sentence": 0.4,
    "whole>text": 0.8,
    "title>text": 0.2,
    "whole>anchors": 0.1,
    "neighbours-20": 0.1,
    "neighbours-50": 0.2,
    "neighbours-150": 0.2,
    "cites-neighbours": 0.2,
    "sentences": 0.1,
    "sentences:cubes": 0.2,
    "shared-authors": 0.2,
    "past-citations": 0.2,
    "recent-in-citations": 0.1,
}
GLOBAL_NEURAL_WEIGHTS: dict[str, float] = {
    "hatten": 0.2,
    "nnselect": 0.3,
    "sentence": 0.4,
    "whole>text": 0.05,
    "whole>title": 0.1,
    "whole>anchors": 0.1,
    "neighbours-50": 0.1,
    "neighbours-150": 0.1,
    "cites-neighbours": 0.2,
    "sentences:cubes": 0.05,
    "recent-in-citations": 0.2,
    "shared-authors": 0.3,
    "past-citations": 0.3,
    "venue-interest": 0.05,
}
"""Of a whole paper's query where there are two encoders or more: they then say most of what its words say."""


def weights_for(encoders: Collection[str]) -> Mapping[str, Mapping[str, float]]:
    """The weights for ``local`` and ``global`` queries, given the names of the encoders that are there."""
    whole = GLOBAL_NEURAL_WEIGHTS if len(encoders) > 1 else GLOBAL_WEIGHTS
    return {"local": LOCAL_WEIGHTS, "global": whole}
