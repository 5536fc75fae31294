"""Whether other machines see the folder that a command writes: they might have another under the same path."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from cocite.errors import CociteError, InputError
from cocite_jobs.storage.location import Location

TOKEN_FILE = ".token"
"""File in a shared folder that the driver writes and the other processes read."""


@dataclass(frozen=True)
class SharedFolder:
    """A folder with a token that only processes that share its file system can read.

    Attributes:
        place: the folder.
        token: the content of its file.
        what: the folder, in words.
        file: the name of its file with the token.

    Example:
        >>> shared = SharedFolder.marked(Location.of("sweeps/words"), "the sweep's folder")
        >>> shared.check()
        >>> shared.place.remove(TOKEN_FILE)  # as another node sees it
        >>> shared.check("node 10.0.0.7")
        Traceback (most recent call last):
        cocite.errors.InputError: .../sweeps/words: node 10.0.0.7 does not see the sweep's folder (name one ...)
    """

    place: Location
    token: str
    what: str
    file: str = TOKEN_FILE

    @classmethod
    def marked(cls, place: Location, what: str, file: str = TOKEN_FILE) -> SharedFolder:
        """Write a new token into a folder, which is made.

        Args:
            place: the folder.
            what: the folder, in words.
            file: the name of the file that gets the token.

        Raises:
            CociteError: it cannot be written.
        """
        shared = cls(place, uuid.uuid4().hex, what, file)
        place.write(file, shared.token)
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
            seen = (self.place.read(self.file) or b"").decode(errors="replace")
        except (OSError, CociteError) as error:
            seen, why = "", f": {error.message}" if isinstance(error, CociteError) else ""
        if seen != self.token:
            raise InputError(
                f"{who} does not see {self.what}{why}",
                where=self.place.uri,
                hint="name one that all nodes share, or a URI: --to",
            )
