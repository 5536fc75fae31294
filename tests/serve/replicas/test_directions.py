"""What gateways are told: the same told again is the same, and nobody changes it on the way."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.replicas.directions import Directions

REFUSED = RefusedRelease(what="Index 000002", why="damaged", when="2026-11-23T09:00:00+00:00")


def test_directions_told_again_are_equal_and_others_are_not() -> None:
    told = Directions("cocite-stages-1", "cocite-stages-2", share=0.1, refused=(REFUSED,))
    assert told == replace(told, refused=(REFUSED.model_copy(),))
    assert told != replace(told, trial="")


def test_directions_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'stages'"):
        Directions("cocite-stages-1").stages = "cocite-stages-2"  # type: ignore[misc]


def test_without_more_words_nothing_is_on_trial() -> None:
    directions = Directions("cocite-stages-1")
    assert (directions.trial, directions.share, directions.refused) == ("", 0.0, ())


def test_by_default_there_is_no_second_release() -> None:
    assert Directions("cocite-stages-1").beside == ""
