from __future__ import annotations

from helpers.synthetic import SyntheticCorpora

from cocite.corpus.context_links import ContextLinks


def test_the_links_are_those_of_each_context(synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(60, seed=4, context_rate=2.0)
    links = ContextLinks.of(corpus)
    assert len(links.citing) == len(links.cited) == len(corpus.contexts) > 60
    for context in range(0, len(corpus.contexts), 7):
        assert links.citing[context] == corpus.contexts.take("citing", [context])[0]
        assert links.cited[context].tolist() == corpus.contexts.take("cited", [context])[0]
