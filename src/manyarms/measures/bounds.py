"""Bounds: how regret may grow, and how it must, as functions of the horizon and of how much changed.

Rates, not bounds in numbers: constants are left out, among them those of the reservoir (kappa_1, kappa_2), of the
algorithms (C_1, C_2) and of the base. They serve to compare slopes and shapes, and to scale tables and pictures.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits"; each function names the place. The
lower bounds are those of Kim, Vojnovic & Yun, "An Adaptive Approach for Infinitely Many-Armed Bandits under
Generalized Rotting Constraints" (2024), in the form in which the paper states them; it proves none of its own.

Symbols: T -> horizon; V, V_R, L, L_R -> variation, rotting_variation, changes, rotting_changes; the number of
significant shifts -> shifts.

All arguments may be arrays and are broadcast; but the lengths of ``episodes_rate`` are summed over. With ``logs=True``
a rate carries the logarithms that the proofs end with: (log2 T)^3, base 2 as the appendix says. What is left out then
are constants alone. ``lower_rate``, ``aucbt_asw_rate`` and ``restart_variation`` have no such option.

Deviations: the proof of the rate in V also has a smaller power of the logarithm on its term in V,
3 (beta + 1)^2 / (beta + 2)^2, where Hölder's inequality gives 3 (beta + 1) / (beta + 2). Both are below the 3 that its
statement has, and which is used here.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .inputs import Floats, bounded_numbers, check_shapes

LOG_POWER = 3.0
"""The power of log T with which all proofs of the paper end."""

Rate = float | Floats


def stationary_rate(horizon: ArrayLike, beta: ArrayLike, *, logs: bool = False) -> Rate:
    """T^(beta / (beta + 1)): regret when nothing changes, at best and at least.

    Upper: one episode in Theorem 4, with (log2 T)^3. Lower: Wang, Audibert & Munos (2008), Theorem 3,
    as cited in Section 5.2; no logarithm. Hidden: constants.

    Parameters
    ----------
    horizon
        T.
    beta
        The tail exponent of the reservoir.
    logs
        Whether the upper rate's logarithms are put in.

    Examples
    --------
    >>> from manyarms.measures import stationary_rate
    >>> stationary_rate(10_000, beta=1.0)
    100.0
    """
    rounds, exponent = checked("stationary_rate", horizon=horizon, beta=beta)
    return plain(stationary(rounds, exponent), rounds, logs)


def changes_rate(horizon: ArrayLike, beta: ArrayLike, changes: ArrayLike, *, logs: bool = False) -> Rate:
    """(L + 1)^(1 / (beta + 1)) T^(beta / (beta + 1)): T rounds in L + 1 equal parts, each at the stationary rate.

    One half of every bound of the paper; ``changes`` is L, L_R or the number of significant shifts, as the bound says;
    the rest as for ``stationary_rate``. Hidden: constants.

    Examples
    --------
    >>> from manyarms.measures import changes_rate
    >>> changes_rate(10_000, beta=1.0, changes=3)
    200.0
    """
    rounds, exponent, number = checked("changes_rate", horizon=horizon, beta=beta, changes=changes)
    return plain(in_parts(rounds, exponent, number), rounds, logs)


def variation_rate(horizon: ArrayLike, beta: ArrayLike, variation: ArrayLike, *, logs: bool = False) -> Rate:
    """V^(1 / (beta + 2)) T^((beta + 1) / (beta + 2)) + T^(beta / (beta + 1)).

    The other half of every bound; ``variation`` is V or V_R, as the bound says; the rest as for ``stationary_rate``.
    Hidden: constants.

    Examples
    --------
    >>> from manyarms.measures import variation_rate
    >>> round(variation_rate(1_000_000, beta=1.0, variation=1.0), 6)
    11000.0
    """
    rounds, exponent, total = checked("variation_rate", horizon=horizon, beta=beta, variation=variation)
    return plain(moving(rounds, exponent, total) + stationary(rounds, exponent), rounds, logs)


def blackbox_rate(
    horizon: ArrayLike,
    beta: ArrayLike,
    *,
    changes: ArrayLike | None = None,
    variation: ArrayLike | None = None,
    logs: bool = False,
) -> Rate:
    """The most that `Blackbox` may lose, with probability 1 - O(1/T): Theorem 2.

    The smaller of ``changes_rate`` in L and ``variation_rate`` in V for beta >= 1; for beta < 1 the same with 1 in
    place of beta, which is worse than need be. Hidden: kappa_1, kappa_2, C_0, C_1 and, without ``logs``, (log2 T)^3.
    One of ``changes`` (L) and ``variation`` (V) must be known; the rest as for ``stationary_rate``.

    Examples
    --------
    >>> from manyarms.measures import blackbox_rate
    >>> blackbox_rate(10_000, beta=1.0, changes=3), blackbox_rate(10_000, beta=0.5, changes=3)
    (200.0, 200.0)
    """
    rounds, exponent, number, total = either("blackbox_rate", horizon, beta, changes=changes, variation=variation)
    return plain(smaller(rounds, np.maximum(exponent, 1.0), number, total), rounds, logs)


def elimination_rate(
    horizon: ArrayLike,
    beta: ArrayLike,
    *,
    shifts: ArrayLike | None = None,
    rotting_variation: ArrayLike | None = None,
    logs: bool = False,
) -> Rate:
    """The most that `Elimination` may lose, with probability 1 - 1/T: Corollary 5.

    The smaller of ``changes_rate`` in the number of significant shifts and ``variation_rate`` in V_R, for every beta.
    Hidden: kappa_1, C_2 and, without ``logs``, (log2 T)^3. Shifts count with what ``significant_shifts`` leaves open.
    One of ``shifts`` and ``rotting_variation`` (V_R) must be known; the rest as for ``stationary_rate``.

    Examples
    --------
    >>> from manyarms.measures import elimination_rate
    >>> elimination_rate(10_000, beta=1.0, shifts=3, rotting_variation=0.0)
    100.0
    """
    rounds, exponent, number, total = either(
        "elimination_rate", horizon, beta, shifts=shifts, rotting_variation=rotting_variation
    )
    return plain(smaller(rounds, exponent, number, total), rounds, logs)


def lower_rate(
    horizon: ArrayLike,
    beta: ArrayLike,
    *,
    rotting_changes: ArrayLike | None = None,
    rotting_variation: ArrayLike | None = None,
) -> Rate:
    """The least that any policy loses in the worst rotting world: Section 3.

    After Kim et al. (2024), Theorems 4.1 and 4.2: the smaller of ``changes_rate`` in L_R and ``variation_rate`` in V_R;
    without logarithms. Hidden: constants. It is in expectation and over all worlds with so much rotting: one run may do
    better. One of ``rotting_changes`` (L_R) and ``rotting_variation`` (V_R) must be bounded.

    Examples
    --------
    >>> from manyarms.measures import lower_rate
    >>> lower_rate(10_000, beta=1.0, rotting_changes=0)
    100.0
    """
    measures = {"rotting_changes": rotting_changes, "rotting_variation": rotting_variation}
    return plain(smaller(*either("lower_rate", horizon, beta, **measures)))


def aucbt_asw_rate(
    horizon: ArrayLike,
    beta: ArrayLike,
    *,
    rotting_changes: ArrayLike | None = None,
    rotting_variation: ArrayLike | None = None,
) -> Rate:
    """The most that `AUCBTASW` may lose in expectation where arms rot: Kim et al. (2024), cited in Section 7.

    min(V^(1/(beta+2)) T^((beta+1)/(beta+2)), (L+1)^(1/(beta+1)) T^(beta/(beta+1))) + T^((2 beta+1)/(2 beta+2)) for
    beta >= 1, and for beta < 1 the same with 1 in place of beta; the last term is the price of not knowing V and L. The
    paper's Section 7 has the smaller of T^((2 beta+1)/(2 beta+2)) and T^(3/4) there, which for beta > 3 and V = 0 would
    be below the lower bound; Kim et al. have the larger. Hidden: constants and powers of log T, which the paper
    does not tell, so that there is no option for them. Where arms rot, L and V are L_R and V_R; one must be known.

    Examples
    --------
    >>> from manyarms.measures import aucbt_asw_rate
    >>> aucbt_asw_rate(10_000, beta=1.0, rotting_variation=0.0)
    1000.0
    """
    rounds, exponent, number, total = either(
        "aucbt_asw_rate", horizon, beta, rotting_changes=rotting_changes, rotting_variation=rotting_variation
    )
    exponent = np.maximum(exponent, 1.0)
    price = rounds ** ((2.0 * exponent + 1.0) / (2.0 * exponent + 2.0))
    return plain(np.fmin(in_parts(rounds, exponent, number), moving(rounds, exponent, total)) + price)


def episodes_rate(lengths: ArrayLike, beta: ArrayLike, *, logs: bool = False) -> Rate:
    """The sum of n^(beta / (beta + 1)) over episodes of n rounds: Theorem 4, for `Elimination`.

    Also the middle of the proof for `Blackbox`, beta >= 1 (Section A.3). Hidden: kappa_1, C_2 and, without ``logs``,
    (log2 T)^3, where T is the sum of ``lengths``, the rounds of each episode. For an array of ``beta`` there is one sum
    for each of its entries.

    Examples
    --------
    >>> from manyarms.measures import episodes_rate
    >>> episodes_rate([100, 400], beta=1.0)
    30.0
    """
    (rounds,), (exponent,) = checked("episodes_rate", lengths=lengths), checked("episodes_rate", beta=beta)
    return plain(stationary(rounds.reshape(-1, *[1] * exponent.ndim), exponent).sum(axis=0), rounds.sum(), logs)


def restart_variation(length: ArrayLike, beta: ArrayLike) -> Rate:
    """n^(-1 / (beta + 1)): how much must have changed in an episode of n rounds that ended with a restart.

    V for `Blackbox`, beta >= 1 (Section A.4; below, as for beta = 1, Section A.6), V_R for `Elimination` (Section B.2);
    with probability 1 - O(1/T). Hidden: a factor (log2 T)^3, and constants of the algorithms that must be large enough.
    ``length`` is n, ``beta`` the tail exponent of the reservoir.

    Examples
    --------
    >>> from manyarms.measures import restart_variation
    >>> restart_variation(100, beta=1.0)
    0.1
    """
    rounds, exponent = checked("restart_variation", length=length, beta=beta)
    return plain(rounds ** (-1.0 / (exponent + 1.0)))


def checked(owner: str, **values: ArrayLike) -> list[Any]:
    """Arrays that can be broadcast: rounds of at least 1, exponents above 0, and measures of at least 0."""
    arrays = {}
    for name, value in values.items():
        bound = 1.0 if name in ("horizon", "length", "lengths") else 0.0
        arrays[name] = bounded_numbers(owner, name, value, bound, is_open=name == "beta")
    check_shapes(owner, **arrays)
    return list(arrays.values())


def either(owner: str, horizon: ArrayLike, beta: ArrayLike, **measures: ArrayLike | None) -> list[Any]:
    """As ``checked``, with two measures of which one must be given; the other may be None, and comes back as nan."""
    known = {name: value for name, value in measures.items() if value is not None}
    if not known:
        raise ValueError(f"{owner}: neither {' nor '.join(measures)} is given; give one or both")
    rounds, exponent, *arrays = checked(owner, horizon=horizon, beta=beta, **known)
    found = dict(zip(known, arrays, strict=True))
    return [rounds, exponent, *(found.get(name, np.nan) for name in measures)]


def stationary(horizon: Any, beta: Any) -> Any:
    """As ``stationary_rate``."""
    return horizon ** (beta / (beta + 1.0))


def in_parts(horizon: Any, beta: Any, changes: Any) -> Any:
    """As ``changes_rate``."""
    return (changes + 1.0) ** (1.0 / (beta + 1.0)) * stationary(horizon, beta)


def moving(horizon: Any, beta: Any, variation: Any) -> Any:
    """The first term of ``variation_rate``."""
    return variation ** (1.0 / (beta + 2.0)) * horizon ** ((beta + 1.0) / (beta + 2.0))


def smaller(horizon: Any, beta: Any, changes: Any, variation: Any) -> Any:
    """The smaller of ``changes_rate`` and ``variation_rate``; where one of them is nan, the other."""
    return np.fmin(in_parts(horizon, beta, changes), moving(horizon, beta, variation) + stationary(horizon, beta))


def plain(rate: Any, horizon: Any = 2.0, logs: bool = False) -> Rate:
    """A float for numbers, an array for arrays; times (log2 T)^3, if asked for.

    A horizon of 1 counts as 2, so that its logarithm is not 0.
    """
    if logs:
        rate = rate * np.log2(np.maximum(horizon, 2.0)) ** LOG_POWER
    return float(rate) if np.ndim(rate) == 0 else np.asarray(rate, dtype=np.float64)
