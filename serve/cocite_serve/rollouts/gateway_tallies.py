"""How a canary goes by what the gateways count, each for itself; one that hangs keeps the others' counts from nobody.

Ray Serve gives up a broadcast as a whole where one replica is late. Here each gateway's answer counts by itself, and of
a gateway that does not answer, what it said last.
"""

from __future__ import annotations

from cocite_serve.notices import LOGGER, Notify
from cocite_serve.replicas.canary import Counted, Tally

REPLY_S = 2.5
"""Seconds within which a gateway has to say what it has counted. Two looks of a canary and its pause fit into six."""


class GatewayTallies:
    """The counts of all gateways in one canary.

    Args:
        warn: takes a line when gateways do not answer, once for each set of them.

    Example:
        On a connected Ray with gateways, ``GatewayTallies().newest()`` asks them; what they say is taken in so:

        >>> tallies = GatewayTallies(print)
        >>> tallies.take_in([Counted("a", (Tally(4, 1), Tally(40))), Counted("b", (Tally(2), Tally(20)))])
        >>> tallies.take_in([Counted("a", (Tally(5, 2), Tally(50))), TimeoutError()])
        1 of 2 gateways did not say within 2.5 s how the canary goes (b); what each said last counts
        >>> [on_trial.requests for on_trial, served in tallies.known()]
        [5, 2]
    """

    def __init__(self, warn: Notify = LOGGER.warning) -> None:
        self._warn = warn
        self._known: dict[str, tuple[Tally, Tally]] = {}
        self._running: set[str] = set()
        """Names of the gateways when all of them answered."""
        self._told: set[str] | None = None

    def newest(self) -> list[tuple[Tally, Tally]]:
        """Ask all gateways, and tell how requests went at each: by the release on trial, and by the served one."""
        from ray import serve
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        from cocite_serve.replicas.names import GATEWAYS

        try:
            replies = serve.get_app_handle(GATEWAYS).broadcast("tallies")
            self.take_in(replies.results(timeout_s=REPLY_S, return_exceptions=True))
        except (RayError, RayServeException, TimeoutError) as error:
            # No gateway runs, or none can be reached.
            self.take_in([error])
        return self.known()

    def take_in(self, replies: list[Counted | Exception]) -> None:
        """Note what each gateway said, or that it said nothing.

        Args:
            replies: one of each gateway that runs, in any order.
        """
        answered = {reply.gateway: reply.tallies for reply in replies if isinstance(reply, Counted)}
        self._known |= {name: tallies for name, tallies in answered.items() if tallies is not None}
        if len(answered) == len(replies):
            self._running, self._told = set(answered), None
            return
        missing = self._running - answered.keys()
        if missing != self._told:
            self._told = missing
            self._warn(
                f"{len(replies) - len(answered)} of {len(replies)} gateways did not say within {REPLY_S:g} s how the "
                f"canary goes ({', '.join(sorted(missing)) or 'new ones'}); what each said last counts"
            )

    def known(self) -> list[tuple[Tally, Tally]]:
        """What each gateway that ever answered said last."""
        return list(self._known.values())
