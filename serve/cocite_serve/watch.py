"""Looks now and then whether there is something newer to serve, and puts it in the place of what is served.

What cannot be served is told once, with what to do; what is served goes on meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from cocite.errors import CociteError, InputError, IntegrityError
from cocite_serve.releases import Held, Source, Target
from cocite_serve.rollout import Rollout, RolloutError

LOG = logging.getLogger("cocite.serve")
GIVE_UP_S = 20.0


class Watcher:
    """A thread that looks and acts, until it is ended.

    Args:
        source: where releases come from.
        held: what is served now.
        rollout: puts a release in the place of the one that is served.
        tell: takes one line for whoever runs the endpoint.
    """

    def __init__(
        self,
        source: Source,
        held: Held,
        rollout: Rollout,
        tell: Callable[[str], None],
    ) -> None:
        self.source, self.held = source, held
        self._rollout, self._tell = rollout, tell
        self._refused: set[Target] = set()
        self._told = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to look, if there is anything to look for."""
        if self.source.interval:
            self._thread.start()

    def end(self) -> None:
        """Look no more; returns when what was begun is done or given up, or hangs in a store that does not answer."""
        self._ended.set()
        self._rollout.interrupt()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(GIVE_UP_S)

    def _run(self) -> None:
        while not self._ended.wait(self.source.interval):
            try:
                self.look()
            except CociteError as error:  # the store is away, or another process writes: the next look may do
                self._tell_once(f"Cannot look for something newer to serve: {error}")
            except Exception as error:
                LOG.exception("defect while looking for something newer to serve")
                self._tell_once(f"Cannot look for something newer to serve: {error!r}")
            else:
                self._told = ""

    def look(self) -> None:
        """Serve what is meant now; what of it can be served, where not all of it can."""
        served = self.held.release.target
        meant = self.source.look()
        for target in (meant, Target(served.model, meant.index), Target(meant.model, served.index)):
            if target == served:
                return
            if target in self._refused:
                continue
            try:
                self._serve(target)
            except (InputError, IntegrityError, RolloutError) as error:  # as it is, it never will be
                if self._ended.is_set():
                    return
                self._refused.add(target)
                what = (
                    f"{target.model} over index {target.index}" if target.model else f"Index {target.index}"
                )
                self._tell(f"{what} is not served: {error}. {self.held.release} goes on being served.")
            else:
                return

    def _serve(self, target: Target) -> None:
        held, old = self.source.take(target), self.held
        try:
            held.release.check(old.release)
            self._rollout.turn(held.release)
        except BaseException:
            held.let_go()
            raise
        self.held = held
        self._tell(f"Serving {held.release} now.")
        self._rollout.retire()
        old.let_go()

    def _tell_once(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._tell(text)
