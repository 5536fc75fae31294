"""How well texts of another field are told from texts of a corpus, as Markdown tables.

    python -m benchmarks.unlike_texts CORPUS WORKS [--until 2010] [--texts 1500]

CORPUS is the ACL corpus, WORKS a file of OpenAlex works of biomedicine. Words are weighed by the papers up to a year
and their contexts; texts of the corpus are those of later papers, so that they bring new words, as a user's do. Of the
works, those with a concept of computing or language are left out. A gap of a work is two sentences of its abstract.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks._other_texts import ENGLISH, OTHER_LANGUAGES, nonsense
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.domain_limits import DomainLimits, Kind
from cocite.retrieval.engines.word_rarity import WordRarity
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import context_texts
from cocite.retrieval.index.domain import SAMPLE, fit_domain
from cocite.text.gaps import blank_marks
from cocite.text.paper_text import paper_text
from cocite.text.sentences import split_sentences

FALSE_POSITIVES = 0.01
NEAREST = 10
"""Papers whose mean BM25 score is compared with the text's own."""
EXCLUDED = {
    "Artificial intelligence",
    "Computer science",
    "Linguistics",
    "Natural language processing",
    "Speech recognition",
}
"""Concepts of OpenAlex that a work must not have."""
LENGTHS = (1, 8, 16, 32, 64, 128, 100_000)
"""Bounds of the numbers of words by which the chosen statistic is reported."""
Values = NDArray[np.float64]
Statistic = Callable[[list[str]], Values]


@dataclass(frozen=True)
class Form:
    """Texts of one form: those of the corpus, and those of biomedicine."""

    name: str
    kind: Kind
    inside: list[str]
    outside: list[str]


def read_works(path: Path, count: int, seed: int) -> list[tuple[str, str]]:
    """Title and abstract of works outside computing and linguistics, drawn with a seed."""
    result = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            work = json.loads(line)
            places = work.get("abstract_inverted_index")
            concepts = {concept["display_name"] for concept in work.get("concepts", ())}
            if work["title"] and places and not concepts & EXCLUDED:
                words = sorted((place, word) for word, at in places.items() for place in at)
                result.append((work["title"], " ".join(word for _, word in words)))
    random.Random(seed).shuffle(result)
    return result[:count]


def two_sentences(abstract: str, draw: random.Random) -> str:
    """Two sentences of an abstract that follow each other; all of one that has no more."""
    [sentences] = split_sentences([abstract])
    start = draw.randrange(max(len(sentences) - 1, 1))
    return " ".join(sentences[start : start + 2])


def make_forms(corpus: Corpus, works: list[tuple[str, str]], until: int, count: int, seed: int) -> list[Form]:
    """The texts of later papers and of works, as titles, titles with abstracts, and gaps."""
    draw, chance = np.random.default_rng(seed), random.Random(seed)
    later = np.flatnonzero(corpus.years > until)
    rows = draw.choice(later, min(count, len(later)), replace=False)
    titles, abstracts = (corpus.papers.take(name, rows) for name in ("title", "abstract"))
    places = np.flatnonzero(corpus.years[corpus.context_citing] > until)
    places = draw.choice(places, min(count, len(places)), replace=False)
    contexts = [blank_marks(text) for text in corpus.contexts.take("text", places)]
    owners = corpus.context_citing[places]
    columns = (corpus.papers.take(name, owners) for name in ("title", "abstract"))
    manuscripts = [paper_text(title, abstract) for title, abstract in zip(*columns, strict=True)]
    gaps = [two_sentences(abstract, chance) for _, abstract in works]
    both = [paper_text(title, abstract) for title, abstract in works]
    return [
        Form("title", "global", titles, [title for title, _ in works]),
        Form("title and abstract", "global", [*map(paper_text, titles, abstracts)], both),
        Form("gap", "local", contexts, gaps),
        Form(
            "gap, title and abstract",
            "local",
            [f"{context} {text}" for context, text in zip(contexts, manuscripts, strict=True)],
            [f"{gap} {text}" for gap, text in zip(gaps, both, strict=True)],
        ),
    ]


def statistics(rarity: WordRarity) -> dict[str, Statistic]:
    """What is compared, by name; greater values are more unlike."""
    papers, (count, _) = rarity.papers, rarity.documents
    occurrences = np.zeros(papers.counts.shape[1])
    for block in papers.counts.blocks():
        occurrences += np.bincount(block.indices, block.data, minlength=len(occurrences))
    unknown = np.log((count + 1) / 0.5)

    def numbers(text: str) -> NDArray[np.int64]:
        return np.array([papers.vocabulary.get(word, -1) for word in rarity.words(text)], np.int64)

    def idf(found: NDArray[np.int64]) -> Values:
        return np.where(found < 0, unknown, papers.idf[found])

    def each(function: Callable[[str], float]) -> Statistic:
        # A text without words is like any other.
        return lambda texts: np.array([function(text) if rarity.words(text) else 0.0 for text in texts])

    def unknown_share(text: str) -> float:
        found, weights = numbers(text), idf(numbers(text))
        return float(weights[found < 0].sum() / weights.sum())

    def cross_entropy(text: str) -> float:
        found = numbers(text)
        held = np.where(found < 0, 0, occurrences[found])
        return float(-np.log((held + 0.5) / (occurrences.sum() + 0.5 * len(occurrences))).mean())

    def own_score(text: str) -> float:
        found = numbers(text)
        words, times = np.unique(found, return_counts=True)
        saturation = papers.k1 * (1 - papers.b + papers.b * len(found) / papers.mean_length)
        return float((times * idf(words) * times / (times + saturation)).sum())

    def distance(texts: list[str]) -> Values:
        best = papers.search(texts, NEAREST).scores.mean(axis=1)
        own = np.array([own_score(text) if rarity.words(text) else 1.0 for text in texts])
        return np.asarray(-best / np.maximum(own, 1e-9))

    return {
        "share of unknown words, by idf": each(unknown_share),
        "mean idf among papers": each(lambda text: float(idf(numbers(text)).mean())),
        "**mean idf among papers and contexts**": each(
            lambda text: float(rarity.of(rarity.words(text)).mean())
        ),
        "unigram cross-entropy of papers": each(cross_entropy),
        f"BM25 of the best {NEAREST} papers, by the text's own": distance,
    }


def auroc(inside: Values, outside: Values) -> float:
    """The probability that a text from outside has the greater value; a half for equal ones."""
    low, high = (np.searchsorted(np.sort(inside), outside, side) for side in ("left", "right"))
    return float((low + high).mean() / 2 / len(inside))


def true_positives(inside: Values, outside: Values) -> float:
    """The share of texts from outside above the value that one in a hundred of those from inside is above."""
    return float((outside > np.quantile(inside, 1 - FALSE_POSITIVES)).mean())


def flagged(limits: DomainLimits, rarity: WordRarity, texts: list[str], kind: Kind) -> Values:
    """Whether each text is noted, as 0 or 1."""
    return np.array([limits.is_unlike(rarity, text, kind) for text in texts], np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("works", type=Path)
    parser.add_argument("--until", type=int, default=2010)
    parser.add_argument("--texts", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    works = read_works(options.works, options.texts, options.seed)
    forms = make_forms(corpus, works, options.until, options.texts, options.seed)
    known = np.flatnonzero(corpus.years <= options.until)
    history = History.until(corpus, options.until)
    texts = zip(*(corpus.papers.take(name, known) for name in ("title", "abstract")), strict=True)
    papers = Bm25Index.build(f"{title} {abstract or ''}" for title, abstract in texts)
    contexts = Bm25Index.build(context_texts(corpus, history.contexts))
    rarity = WordRarity(papers, contexts, (len(papers), len(contexts)))
    compare(statistics(rarity), forms)

    rows = np.sort(np.random.default_rng(options.seed).choice(known, min(SAMPLE, len(known)), replace=False))
    begin = time.perf_counter()
    limits = fit_domain(Collection(corpus, history, np.ones(len(corpus), bool)), rarity, rows)
    seconds = time.perf_counter() - begin
    if limits is None:
        parser.error("too few papers to fit limits to")
    show_flags(limits, rarity, forms, options.texts, options.seed)
    show_lengths(rarity, forms)
    manuscripts = forms[1].inside
    begin = time.perf_counter()
    flagged(limits, rarity, manuscripts, "global")
    each_ms = 1000 * (time.perf_counter() - begin) / len(manuscripts)
    print(f"\nThe limits were fitted in {seconds:.1f} s; a title with abstract takes {each_ms:.2f} ms.")


def compare(compared: dict[str, Statistic], forms: list[Form]) -> None:
    """Print AUROC and true positives of each statistic, by form."""
    print("| statistic |", " | ".join(form.name for form in forms), "|")
    print("| --- |" + " --- |" * len(forms))
    for name, statistic in compared.items():
        cells = []
        for form in forms:
            inside, outside = statistic(form.inside), statistic(form.outside)
            cells.append(f"{auroc(inside, outside):.3f}, {100 * true_positives(inside, outside):.0f} %")
        print(f"| {name} |", " | ".join(cells), "|")


def show_flags(limits: DomainLimits, rarity: WordRarity, forms: list[Form], count: int, seed: int) -> None:
    """Print the shares of texts that the fitted limits note."""
    print("\n| texts | noted |\n| --- | --- |")
    for form in forms:
        for side, texts in (("corpus", form.inside), ("biomedicine", form.outside)):
            share = flagged(limits, rarity, texts, form.kind).mean()
            print(f"| {form.name}, {side} | {100 * share:.1f} % of {len(texts):,} |")
    others = {
        "random letters": nonsense(count, seed),
        "everyday English, one sentence": ENGLISH,
        "everyday English, three sentences": [" ".join(ENGLISH[i : i + 3]) for i in range(len(ENGLISH) - 2)],
        "other languages, one sentence": OTHER_LANGUAGES,
    }
    for name, texts in others.items():
        shares = (flagged(limits, rarity, texts, kind).mean() for kind in ("global", "local"))
        as_manuscript, as_gap = (f"{100 * share:.1f} %" for share in shares)
        print(f"| {name} | {as_manuscript} of {len(texts):,}; as a gap {as_gap} |")


def show_lengths(rarity: WordRarity, forms: list[Form]) -> None:
    """Print how the chosen statistic tells all forms' texts apart, by their number of words."""
    print("\n| words | corpus | biomedicine | AUROC | true positives |\n| --- | --- | --- | --- | --- |")
    sides = []
    for side in ("inside", "outside"):
        words = [rarity.words(text) for form in forms for text in getattr(form, side)]
        counts = np.array([len(found) for found in words])
        values = np.array([rarity.of(found).mean() if found else 0.0 for found in words])
        sides.append((counts, values))
    for low, high in pairwise(LENGTHS):
        inside, outside = (values[(counts >= low) & (counts < high)] for counts, values in sides)
        named = f"{low} to {high - 1}" if high < LENGTHS[-1] else f"{low} or more"
        measured = f"{auroc(inside, outside):.3f} | {100 * true_positives(inside, outside):.0f} %"
        print(f"| {named} | {len(inside):,} | {len(outside):,} | {measured} |")


if __name__ == "__main__":
    main()
