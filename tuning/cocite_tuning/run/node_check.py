"""Whether all nodes of a cluster see the sweep's folder, asked before the first trial starts."""

from __future__ import annotations

from cocite.errors import InputError
from cocite_jobs.storage.shared_folder import SharedFolder


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
