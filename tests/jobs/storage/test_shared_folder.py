"""A folder is seen where its token is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.object_stores import everywhere

from cocite.errors import InputError
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.shared_folder import TOKEN_FILE, SharedFolder


@pytest.mark.parametrize("elsewhere", [False, True])
@everywhere
def test_a_folder_is_seen_where_its_token_is(elsewhere: bool, remote: str, tmp_path: Path) -> None:
    place = Location.of(remote if elsewhere else tmp_path) / "sweep"
    folder = SharedFolder.marked(place, "the sweep's folder")
    folder.check()
    # The same path on a node that does not share it: another sweep's folder, or none.
    SharedFolder.marked(place, "the sweep's folder")
    sentence = (
        r"sweep: node 10\.0\.0\.7 does not see the sweep's folder \(name one that all nodes share, or a URI"
    )
    with pytest.raises(InputError, match=sentence):
        folder.check("node 10.0.0.7")
    place.remove(TOKEN_FILE)
    with pytest.raises(InputError, match="this process does not see the sweep's folder"):
        folder.check()


def test_two_commands_share_one_folder(tmp_path: Path) -> None:
    both = [SharedFolder.marked(Location.of(tmp_path), "the model folder", name) for name in (".one", ".two")]
    for folder in both:
        folder.check()
