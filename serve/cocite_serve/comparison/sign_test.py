"""Whether one of two releases wins more often than by chance: the two-sided sign test over answers with clicks."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = 0.95
"""Of the confidence interval."""


@dataclass(frozen=True)
class SignTest:
    """The result of a sign test. Ties do not count.

    Attributes:
        p: of as many wins or more, by either side, where both win equally often.
        share: of the wins that are the second one's; None: there are none.
        low: lower bound of that share, with a confidence of :data:`LEVEL` (Clopper and Pearson 1934).
        high: upper bound.

    Example:
        >>> test = sign_test(served=5, beside=15)
        >>> f"{test.p:.4f} {test.share:.2f} [{test.low:.2f}, {test.high:.2f}]"
        '0.0414 0.75 [0.51, 0.91]'
    """

    p: float
    share: float | None
    low: float
    high: float


def sign_test(served: int, beside: int) -> SignTest:
    """The test of two numbers of wins.

    Example:
        >>> sign_test(0, 0)
        SignTest(p=1.0, share=None, low=0.0, high=1.0)
    """
    from scipy.stats import binomtest  # 60 MB: only for the process that counts

    wins = served + beside
    if not wins:
        return SignTest(1.0, None, 0.0, 1.0)
    result = binomtest(beside, wins)
    low, high = result.proportion_ci(LEVEL, method="exact")
    return SignTest(float(result.pvalue), beside / wins, float(low), float(high))
