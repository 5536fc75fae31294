from __future__ import annotations

import pytest

from cocite.corpus.splits import Split
from cocite.corpus.store import Corpus


@pytest.mark.acl
def test_the_acl_corpus_is_imported_whole(acl_store: Corpus) -> None:
    corpus = acl_store
    names = ("papers", "citations", "contexts", "sentences")
    assert [corpus.counts[name] for name in names] == [20_299, 93_876, 105_972, 2_968_429]
    assert {name for name, n in corpus.counts["rules"].items() if n} == {
        "broken_unicode",
        "too_long",
        "unknown_field",
    }
    assert {(entry["field"], entry["count"]) for entry in corpus.manifest.meta["unknown_fields"]} == {
        ("booktitle", 20_299),
        ("n_sentences", 20_299),
    }
    split = Split.of(corpus)
    assert split.test[corpus.context_citing].sum() == 26_898
    assert (split.test & (corpus.cites.degrees > 0)).sum() == 2_177
