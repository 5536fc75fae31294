"""The benchmark of drafts: they are read as an author's are, and the endpoint answers them as the library does."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.api_backend import LIMITS, client
from helpers.api_backend import InProcess as Backend
from helpers.synthetic import SyntheticCorpora

pytest.importorskip("benchmarks.draft_recall", reason="run from a checkout")

from benchmarks.draft_recall import (
    Endpoint,
    InProcess,
    ask_drafts,
    ask_local,
    cited_beside,
    open_written,
    read_sources,
    recalls,
    write_bibliography,
    write_draft,
)
from cocite.corpus.store import Corpus
from cocite.drafts.draft import Kind
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=5, split=(2, 1), sentences=True)


@pytest.mark.parametrize("kind", ["latex", "markdown"])
def test_what_a_draft_cites_is_found_by_its_bibliography(kind: Kind, corpus: Corpus) -> None:
    found = 0
    for source in read_sources(corpus, 5, seed=0):
        for gap in source.groups[:2]:
            text = write_draft(source, kind, gap=gap)
            draft, bibliography = open_written(text, write_bibliography(source, corpus), kind, corpus)
            assert len(draft.gaps) == 1
            cited = {*bibliography.cited_rows(draft).values()}
            found += len(cited)
            every = {row for rows in source.cited.values() for row in rows}
            assert cited <= {*cited_beside(source, gap)} == every - {*source.cited[gap]}
    assert found > 20


@pytest.mark.parametrize("each", [None, 1])
def test_the_endpoint_answers_as_the_library(each: int | None, corpus: Corpus, tmp_path: Path) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index")
    recommender = Recommender.load(None, tmp_path / "index")
    limits = LIMITS.model_copy(update={"draft_s": 120.0, "draft_gaps": 500, "abstract_chars": 5_000})
    api = client(Backend(recommender), request_timeout_s=300, limits=limits)
    sources = read_sources(corpus, 2, seed=0)
    ours = ask_drafts(InProcess(recommender), corpus, sources, "latex", each=each)
    served = ask_drafts(Endpoint(api, corpus), corpus, sources, "latex", each=each)
    assert [one.ids for one in ours] == [one.ids for one in served]
    assert all(corpus.ids([one.source.row])[0] not in one.ids for one in served)
    assert 0 < recalls(corpus, served).mean() <= 1


def test_the_control_of_one_gap_leaves_out_of_the_local_task_what_the_draft_cites(
    corpus: Corpus, tmp_path: Path
) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index")
    recommender = Recommender.load(None, tmp_path / "index")
    drafts = ask_drafts(InProcess(recommender), corpus, read_sources(corpus, 4, seed=0), "latex", each=3)
    plain, control = (ask_local(recommender, drafts, without_cited=flag) for flag in (False, True))
    cited = [{*corpus.ids(cited_beside(one.source, one.group))} for one in drafts]
    assert any(own & {*one.ids} for own, one in zip(cited, plain, strict=True))
    for own, one, without in zip(cited, plain, control, strict=True):
        assert not own & {*without.ids}
        assert (without.source, without.group, len(without.ids)) == (one.source, one.group, 10)
        # What stays keeps its order, and what comes after it moves up.
        stayed = [id_ for id_ in one.ids if id_ not in own]
        assert without.ids[: len(stayed)] == stayed
    assert recalls(corpus, control).mean() >= recalls(corpus, plain).mean()
