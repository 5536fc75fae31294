"""Looks at intervals for newer versions of model and index, and rolls them out.

A version that cannot be served is reported once, with what to do; the release that is served stays meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from cocite.errors import CociteError, InputError, IntegrityError
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.notices import LOGGER, Notice, Notify
from cocite_serve.release import LockedRelease, Release, ReleaseSource, Target
from cocite_serve.rollouts.beside import BesideFollower
from cocite_serve.rollouts.errors import RolledBackError, RolloutError
from cocite_serve.rollouts.outcomes import Outcomes

RETELL_S = 10.0
"""Seconds after which gateways that started anew are told what is beside, where nothing else is looked for."""
STOP_S = 20.0
"""Seconds for which :meth:`Watcher.stop` waits for a look that is under way."""


class Turning(Protocol):
    """What puts one release in the place of another: on Ray Serve a :class:`~cocite_serve.rollouts.rollout.Rollout`.

    Example:
        >>> class Nothing:
        ...     def switch_to(self, release): ...
        ...     def delete_old_stages(self): ...
        ...     def tell(self, refused): ...
        ...     def interrupt(self): ...
        >>> turning: Turning = Nothing()
    """

    def switch_to(self, release: Release) -> None:
        """Serve another release; raises RolloutError where it cannot be, and nothing changes."""

    def delete_old_stages(self) -> None:
        """Delete what the releases before it have loaded, once no request can be with them."""

    def tell(self, refused: tuple[RefusedRelease, ...]) -> None:
        """Take note of which newer releases are refused."""

    def interrupt(self) -> None:
        """End every wait at once."""


class Watcher:
    """A thread that looks for newer versions and rolls them out, until it is stopped.

    Args:
        source: finds versions and makes releases of them.
        served: the release that is served now.
        rollout: puts another release in its place.
        notify: takes one line for the operator of the endpoint.
        beside: follows a second release; None: there is none.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> from cocite_serve.settings import ServeSettings
        >>> class NoRay:  # the real one runs on Ray Serve
        ...     def switch_to(self, release): ...
        ...     def delete_old_stages(self): ...
        ...     def tell(self, refused): ...
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     settings = ServeSettings(index=folder)
        ...     source = ReleaseSource(settings)
        ...     watcher = Watcher(source, source.lock(source.newest()), NoRay(), print)
        ...     _ = IndexSnapshot.remove(Path(folder), ["kessler1963coupling"])
        ...     watcher.look()
        Serving no model over index 000002 now.
    """

    def __init__(
        self,
        source: ReleaseSource,
        served: LockedRelease,
        rollout: Turning,
        notify: Notify,
        beside: BesideFollower | None = None,
    ) -> None:
        self.source, self.served, self._beside = source, served, beside
        self._rollout, self._notify = rollout, notify
        self._old: list[LockedRelease] = []
        """Releases whose stages may run still."""
        self._refused: dict[Target, RefusedRelease] = {}
        self._outcomes = Outcomes()
        self._last_failure = ""
        self._looked_beside = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Start the thread, if the settings let the served versions change, or name a second release."""
        if self.source.interval or self._beside is not None:
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

    def unlock(self) -> None:
        """Allow the files of what is served, of what was, and of what is beside it, to be deleted."""
        self.served.unlock()
        self._unlock_old()
        if self._beside is not None:
            self._beside.unlock()

    def _run(self) -> None:
        if self._beside is not None:
            self._look(self._look_beside)  # the served release answers already
        beside = RETELL_S if self._beside is None else self._beside.source.interval or RETELL_S
        while not self._stopped.wait(self.source.interval or beside):
            if self.source.interval:
                self._look(self.look)
            if self._beside is not None:
                self._look(self._look_beside)

    def _look(self, look: Callable[[], None]) -> None:
        """Look for something newer; what goes wrong is told once."""
        if not self._stopped.is_set():
            try:
                look()
            except (
                CociteError
            ) as error:  # the store is away, or another process writes: the next look may succeed
                self._notify_once(f"Cannot look for something newer to serve: {error}")
            except Exception as error:
                LOGGER.exception("defect while looking for something newer to serve")
                self._notify_once(f"Cannot look for something newer to serve: {error!r}")
            else:
                self._last_failure = ""

    def look(self) -> None:
        """Serve the newest model and index; where they cannot be served together, the newest of one of them.

        What was refused is not tried again until the alias or the index has pointed elsewhere.

        Raises:
            CociteError: newer versions could not be looked for, or old stages not be deleted; the next look tries both.
        """
        served = self.served.release.target
        newest = self.source.newest()
        targets = (newest, Target(served.model, newest.index), Target(newest.model, served.index))
        self._refused = {target: refusal for target, refusal in self._refused.items() if target in targets}
        try:
            self._try(targets, served)
        finally:
            self._tell()  # also what was refused before an attempt that ended with an error
        self._delete_old()

    def _look_beside(self) -> None:
        """Load the newest release beside the served one; and tell gateways that started anew what there is."""
        if self._beside is not None and (self._beside.source.interval or not self._looked_beside):
            self._looked_beside = True
            self._beside.look(self.served.release)
        self._tell()

    def _tell(self) -> None:
        refused = list(self._refused.values())
        if self._beside is not None and self._beside.refused is not None:
            refused.append(self._beside.refused)
        self._outcomes.tell(len(refused))
        self._rollout.tell(tuple(refused))

    def _try(self, targets: tuple[Target, ...], served: Target) -> None:
        """Serve the first of some targets that can be served."""
        for target in targets:
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
                self._refuse(target, error)
            else:
                self._outcomes.count("served")
                return

    def _refuse(self, target: Target, error: CociteError) -> None:
        name = f"{target.model} over index {target.index}" if target.model else f"Index {target.index}"
        self._refused[target] = RefusedRelease.now(name, error)
        outcome = "rolled_back" if isinstance(error, RolledBackError) else "refused"
        self._outcomes.count(outcome)
        self._notify(
            Notice(
                f"{name} is not served: {error}. {self.served.release} goes on being served.",
                outcome=outcome,
                release=name,
                why=str(error),
                served=str(self.served.release),
            )
        )

    def _serve(self, target: Target) -> None:
        new, old = self.source.lock(target, whole=True), self.served
        try:
            new.release.check(old.release)
            self._rollout.switch_to(new.release)
        except BaseException:
            new.unlock()
            raise
        # Before anything is deleted: an error there must not leave files unlocked that the gateways read.
        self.served = new
        self._old.append(old)
        self._notify(Notice(f"Serving {new.release} now.", outcome="served", release=str(new.release)))
        if target.model != old.release.target.model:
            new.release.warn_if_unproven(self.source.settings, self._notify)

    def _delete_old(self) -> None:
        """Delete the stages of earlier releases, and unlock their files."""
        if self._old:
            try:
                self._rollout.delete_old_stages()
            except Exception as error:
                why = error if isinstance(error, CociteError) else repr(error)
                raise CociteError(f"the stages of an earlier release were not deleted: {why}") from error
            # Only now: requests under way may have read their files until their time was over.
            self._unlock_old()

    def _unlock_old(self) -> None:
        while self._old:
            self._old.pop().unlock()

    def _notify_once(self, failure: str) -> None:
        """Report a failure, unless the look before it failed the same way."""
        if failure != self._last_failure:
            self._last_failure = failure
            self._notify(failure)
