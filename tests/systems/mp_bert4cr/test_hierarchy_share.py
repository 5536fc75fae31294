"""How much the layers count: against vectors computed with and without them, and in the manifest of a training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.small_mp_bert4cr import SHAPE, mp_bert4cr_recipe, prepared_task

from cocite.corpus.store import Corpus
from cocite.manifests import read_manifest
from cocite.systems.mp_bert4cr.hierarchy_share import HierarchyShare, hierarchy_share
from cocite.systems.mp_bert4cr.network import MpBert4cr, MpBert4crModelSettings
from cocite.text.documents import Documents

PAPERS = Documents(torch.tensor([5, 6, 2, 7, 2, 8, 2]), torch.tensor([0, 3, 5, 7]), torch.tensor([0, 2, 3]))
MANUSCRIPTS = Documents(torch.tensor([9, 3, 2, 4, 2]), torch.tensor([0, 3, 5]), torch.tensor([0, 2]))


def model_of() -> MpBert4cr:
    torch.manual_seed(3)
    return MpBert4cr(MpBert4crModelSettings.parse({**SHAPE, "dropout": 0.5}), vocabulary=10)


def test_a_model_that_begins_as_a_mean_of_words_has_no_hierarchy() -> None:
    share = hierarchy_share(model_of(), MANUSCRIPTS, PAPERS)
    assert share == HierarchyShare(0.0, 0.0)
    assert share.record() == {"manuscripts": 0.0, "papers": 0.0}
    told, warning = share.notes(40)
    assert told.startswith("at step 40 the layers add 0.000")
    assert warning.startswith("warning: the exported layers add nothing")


def test_the_share_is_the_norm_of_what_is_added_of_each_encoder() -> None:
    model = model_of()
    for layer in (*model.citation.sentence_layers, *model.citation.document_layers):
        torch.nn.init.normal_(layer.narrow.weight)
    share = hierarchy_share(model, MANUSCRIPTS, PAPERS)
    assert model.training  # as before
    # Without the last norm the public forward gives the sums.
    encoder = model.citation.eval()
    encoder.norm = torch.nn.Identity()  # type: ignore[assignment]
    with torch.no_grad():
        full, bare = (encoder(PAPERS, layers=layers).documents for layers in (True, False))
    expected = ((full - bare).norm(dim=1) / bare.norm(dim=1)).mean()
    assert share.papers == pytest.approx(float(expected), rel=1e-5)
    assert share.papers > 0.01
    assert share.manuscripts == 0.0  # its encoder has not changed
    assert len(share.notes(7)) == 1


@pytest.mark.parametrize("trained", [True, False])
def test_the_manifest_tells_it(corpus: Corpus, folder: Path, tmp_path: Path, trained: bool) -> None:
    task = prepared_task(mp_bert4cr_recipe(), corpus, folder)
    if trained:
        torch.nn.init.normal_(task.model.manuscript.document_layers[0].narrow.weight)
    task.export(tmp_path / "mp-bert4cr", {"step": 12, "notes": ["step 12 was best"]})
    meta = read_manifest(tmp_path / "mp-bert4cr").meta
    assert meta["step"] == 12
    assert (meta["hierarchy"]["manuscripts"] > 0) == trained
    assert meta["hierarchy"]["papers"] == 0
    assert meta["notes"][:1] == ["step 12 was best"]
    assert any("add nothing" in note for note in meta["notes"]) != trained
