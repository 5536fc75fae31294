"""Looks at intervals for newer versions of model and index, and rolls them out.

A version that cannot be served is reported once, with what to do; the release that is served stays meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from cocite.errors import CociteError, InputError, IntegrityError
from cocite_serve.release import LockedRelease, ReleaseSource, Target
from cocite_serve.rollout import Rollout, RolloutError

LOG = logging.getLogger("cocite.serve")
STOP_S = 20.0
"""Seconds for which :meth:`Watcher.stop` waits for a look that is under way."""


class Watcher:
    """A thread that looks for newer versions and rolls them out, until it is stopped.

    Args:
        source: finds versions and makes releases of them.
        served: the release that is served now.
        rollout: puts another release in its place.
        notify: takes one line for the operator of the endpoint.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> from cocite_serve.settings import ServeSettings
        >>> class NoRay(Rollout):  # the real one runs on Ray Serve
        ...     def switch_to(self, release): ...
        ...     def delete_old_stages(self): ...
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     settings = ServeSettings(index=folder)
        ...     source = ReleaseSource(settings)
        ...     watcher = Watcher(source, source.lock(source.newest()), NoRay(settings), print)
        ...     _ = IndexSnapshot.remove(Path(folder), ["kessler1963coupling"])
        ...     watcher.look()
        Serving no model over index 000002 now.
    """

    def __init__(
        self,
        source: ReleaseSource,
        served: LockedRelease,
        rollout: Rollout,
        notify: Callable[[str], None],
    ) -> None:
        self.source, self.served = source, served
        self._rollout, self._notify = rollout, notify
        self._refused: set[Target] = set()
        self._last_failure = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Start the thread, if the settings let the served versions change."""
        if self.source.interval:
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread.

        Returns when a rollout under way is done or given up, or after :data:`STOP_S` when it hangs in a store that does
        not answer.
        """
        self._stopped.set()
        self._rollout.interrupt()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._stopped.wait(self.source.interval):
            try:
                self.look()
            except (
                CociteError
            ) as error:  # the store is away, or another process writes: the next look may succeed
                self._notify_once(f"Cannot look for something newer to serve: {error}")
            except Exception as error:
                LOG.exception("defect while looking for something newer to serve")
                self._notify_once(f"Cannot look for something newer to serve: {error!r}")
            else:
                self._last_failure = ""

    def look(self) -> None:
        """Serve the newest model and index; where they cannot be served together, the newest of one of them."""
        served = self.served.release.target
        newest = self.source.newest()
        for target in (newest, Target(served.model, newest.index), Target(newest.model, served.index)):
            if target == served:
                return
            if target in self._refused:
                continue
            try:
                self._serve(target)
            except (
                InputError,
                IntegrityError,
                RolloutError,
            ) as error:  # the same files will fail the same way
                # ``stop`` interrupted the rollout, which says nothing against the release.
                if self._stopped.is_set():
                    return
                self._refused.add(target)
                name = (
                    f"{target.model} over index {target.index}" if target.model else f"Index {target.index}"
                )
                self._notify(f"{name} is not served: {error}. {self.served.release} goes on being served.")
            else:
                return

    def _serve(self, target: Target) -> None:
        new, old = self.source.lock(target), self.served
        try:
            new.release.check(old.release)
            self._rollout.switch_to(new.release)
        except BaseException:
            new.unlock()
            raise
        # Before anything is deleted: an error there must not leave files unlocked that the gateways read.
        self.served = new
        self._notify(f"Serving {new.release} now.")
        self._rollout.delete_old_stages()
        # Only now: requests under way may have read its files until their time was over.
        old.unlock()

    def _notify_once(self, failure: str) -> None:
        """Report a failure, unless the look before it failed the same way."""
        if failure != self._last_failure:
            self._last_failure = failure
            self._notify(failure)
