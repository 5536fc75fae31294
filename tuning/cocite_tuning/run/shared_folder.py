"""Whether the processes of a sweep's trials see the sweep's folder: on several nodes they might write into another."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from cocite.errors import CociteError, InputError
from cocite_jobs.storage.location import Location

TOKEN_FILE = ".token"
"""File in a sweep's folder that the driver writes and the trials read."""


@dataclass(frozen=True)
class SharedFolder:
    """A folder with a token that only processes that share its file system can read.

    Attributes:
        place: the folder.
        token: the content of its file :data:`TOKEN_FILE`.

    Example:
        >>> shared = SharedFolder.marked(Location.of("sweeps/words"))
        >>> shared.check()
        >>> shared.place.remove(TOKEN_FILE)  # as another node sees it
        >>> shared.check("node 10.0.0.7")
        Traceback (most recent call last):
        cocite.errors.InputError: .../sweeps/words: node 10.0.0.7 does not see the sweep's folder (name one ...)
    """

    place: Location
    token: str

    @classmethod
    def marked(cls, place: Location) -> SharedFolder:
        """Write a new token into a folder, which is made.

        Raises:
            CociteError: it cannot be written.
        """
        shared = cls(place, uuid.uuid4().hex)
        place.write(TOKEN_FILE, shared.token)
        return shared

    def check(self, who: str = "this process") -> None:
        """Refuse to go on where this process reads no such token.

        Args:
            who: this process, in words.

        Raises:
            InputError: the folder is not there, is another one, or its file system does not answer here.
        """
        why = ""
        try:
            seen = (self.place.read(TOKEN_FILE) or b"").decode(errors="replace")
        except (OSError, CociteError) as error:
            seen, why = "", f": {error.message}" if isinstance(error, CociteError) else ""
        if seen != self.token:
            raise InputError(
                f"{who} does not see the sweep's folder{why}",
                where=self.place.uri,
                hint="name one that all nodes share, or a URI: --to",
            )


def check_nodes(folder: SharedFolder) -> None:
    """Refuse a sweep whose folder a living node of the present Ray cluster does not see.

    Nodes that join later are not asked: each trial checks its own.

    Raises:
        InputError: it names the node.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    others = [node for node in ray.nodes() if node["Alive"] and node["NodeID"] != here]
    seen = ray.remote(num_cpus=0, max_retries=0)(_sees)
    asked = {
        node["NodeManagerAddress"]: seen.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=True)
        ).remote(folder, f"node {node['NodeManagerAddress']}")
        for node in others
    }
    for answer in asked.values():
        if (refusal := ray.get(answer)) is not None:
            raise refusal


def _sees(folder: SharedFolder, who: str) -> InputError | None:
    """The error of :meth:`SharedFolder.check` in this process."""
    try:
        folder.check(who)
    except InputError as error:
        return error
    return None
