"""Which model and index a replica has loaded: those that answer one request have to be of the same."""

from __future__ import annotations

from dataclasses import dataclass

from cocite_serve.http.problems import NotReadyError


@dataclass(frozen=True)
class LoadedVersions:
    """Versions of the model and the index that a replica has loaded.

    Replicas of different versions never answer one request together.

    Example:
        >>> gateway = LoadedVersions(model="5f0c", index="000001")
        >>> gateway.require_same(LoadedVersions("5f0c", "000001"), "reranker")
        >>> gateway.require_same(LoadedVersions("5f0c", "000002"), "reranker")
        Traceback (most recent call last):
        ...
        cocite_serve.http.problems.NotReadyError: the reranker serves model 5f0c and index 000002, but this request
        needs model 5f0c and index 000001; a new version is being rolled out, try again
    """

    model: str
    index: str

    def require_same(self, other: LoadedVersions, deployment: str) -> None:
        """Raise when another replica has loaded other versions.

        Args:
            other: what that replica has loaded.
            deployment: its name, for the error.

        Raises:
            NotReadyError: the versions differ.
        """
        if self != other:
            raise NotReadyError(
                f"the {deployment} serves model {other.model} and index {other.index}, but this request needs model "
                f"{self.model} and index {self.index}; a new version is being rolled out, try again"
            )
