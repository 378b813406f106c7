"""Result: what a simulation found, as arrays, a table, a frame or a picture."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .intervals import mean_and_half_width, means_and_half_widths
from .policies.base import Policy
from .specs import Spec
from .tables import Table
from .trace import COLUMNS, SIMPLE_REGRET, Log, columns_in
from .world import World


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """What ``simulate`` returns.

    Attributes
    ----------
    policies
        The specs by name, as they were played: an unset horizon has been filled in.
    world, horizon, seed
        As given.
    checkpoints
        The rounds at which numbers were kept.
    values
        By policy, an array of shape (replications, checkpoints, columns); the columns are
        ``manyarms.trace.COLUMNS``, and the simple regret if recommendations were asked for.
    replications
        By policy, the numbers of the finished replications: all, unless interrupted. Rows of two
        policies are paired where these numbers are the same.
    logs
        By policy and replication, the full log, if one was asked for.
    is_complete
        False if the simulation was interrupted.
    """

    policies: dict[str, Policy]
    world: World
    horizon: int
    seed: int
    checkpoints: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]
    replications: dict[str, NDArray[np.int64]]
    logs: dict[str, dict[int, Log]]
    is_complete: bool

    def __repr__(self) -> str:
        state = "" if self.is_complete else ", interrupted"
        names = ", ".join(self.policies)
        return f"<Result of {names}; horizon {self.horizon:,}, seed {self.seed}{state}>\n{self.summary()}"

    def __getitem__(self, policy: str) -> NDArray[np.float64]:
        if policy not in self.values:
            raise KeyError(f"no policy {policy!r} in this result; there are {', '.join(self.values)}")
        return self.values[policy]

    def curve(self, policy: str, column: str = "regret") -> NDArray[np.float64]:
        """One number for each replication and checkpoint.

        Parameters
        ----------
        policy
            Its name.
        column
            ``"regret"``, ``"reward"``, ``"restarts"``, ``"episodes"``, ``"blocks"``, ``"arms"``,
            ``"V"``, ``"V_R"``, ``"L"`` or ``"L_R"``, counted from the first round; or ``"reward a round"``, the average
            from the first round on; or ``"simple regret"``, of the arm that it would recommend then, if
            ``simulate(…, recommend=True)`` was asked for it.
        """
        return column_of(self[policy], column, self.checkpoints)

    def final(self, policy: str, column: str = "regret") -> NDArray[np.float64]:
        """One number for each replication, after the last round."""
        return self.curve(policy, column)[:, -1]

    def final_regret(self, policy: str) -> NDArray[np.float64]:
        """The regret of each replication after the last round."""
        return self.final(policy, "regret")

    def log(self, policy: str, replication: int = 0) -> Log:
        """Every round of one replication; needs ``simulate(…, log=True)``."""
        self[policy]
        if replication not in self.logs[policy]:
            raise KeyError(f"no log of replication {replication} of {policy!r}; simulate with log=True")
        return self.logs[policy][replication]

    def summary(self) -> Table:
        """A row for each policy: mean regret and the average reward with 95 % intervals, restarts, arms drawn, changes.

        Rewards come first where regret is not counted from the best mean that a fresh arm can have.
        """
        rows = []
        for name in self.policies:
            finished = len(self.replications[name])
            regret, reward = (
                mean_and_half_width(self.final(name, column)) if finished else (math.nan, math.nan)
                for column in ("regret", PER_ROUND)
            )
            row = {"policy": name, "replications": finished}
            row |= regret_and_reward(
                self.world.regret_is_from_the_best,
                dict(zip(("mean regret", "± 95 %"), regret, strict=True)),
                dict(zip((PER_ROUND, "± 95 % a round"), reward, strict=True)),
            )
            for column in columns_in(self[name])[2:]:
                row[column] = float(self.final(name, column).mean()) if finished else math.nan
            rows.append(row)
        return Table(rows)

    def to_frame(self) -> Any:
        """A tidy pandas frame: one row for each policy, replication and checkpoint.

        The numbers are followed by the horizon, the seed and all fields of the policy and of the world, such as
        ``policy.type``, ``policy.beta`` and ``world.reservoir.beta``, to group by.
        """
        given = {"horizon": self.horizon, "seed": self.seed}
        return frame_of(
            Played(
                names={"policy": name},
                facts=given | fields_of("policy", self.policies[name]) | fields_of("world", self.world),
                replications=self.replications[name],
                rounds=self.checkpoints,
                values=values,
            )
            for name, values in self.values.items()
        )

    def plot(self, ax: Any = None, column: str = "regret", styles: dict[str, dict[str, Any]] | None = None) -> Any:
        """Curves of the mean over replications, with 95 % bands.

        Parameters
        ----------
        ax
            Matplotlib axes to draw on; new ones if left out.
        column
            What to draw; see ``curve``.
        styles
            By policy, keywords for matplotlib's line: ``color``, ``linestyle`` and so on.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot needs matplotlib: pip install 'manyarms[lab]'") from None
        if ax is None:
            _, ax = plt.subplots(figsize=(7.0, 4.5), layout="constrained")
        for name in styles or {}:
            self[name]
        for place, name in enumerate(self.policies):
            self._draw(ax, place, name, column, (styles or {}).get(name, {}))
        ax.set_xlabel("round")
        ax.set_ylabel(column)
        ax.set_xlim(0, self.horizon)
        if column != "regret" or self.world.top == 1.0:
            ax.set_ylim(bottom=0)  # else regret may be negative
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_major_formatter("{x:g}" if column in AT_A_TIME else "{x:,.0f}")
        ax.spines[["top", "right"]].set_visible(False)
        if ax.lines:
            ax.legend(frameon=False)
        return ax

    def _draw(self, ax: Any, place: int, name: str, column: str, style: dict[str, Any]) -> None:
        """One policy's curve and band, from round 0 on."""
        curves = self.curve(name, column)
        if not len(curves):
            return
        rounds = self.checkpoints
        if column not in AT_A_TIME:  # which are nothing before the first round
            rounds = np.concatenate([[0], rounds])
            first = 1.0 if column == "episodes" else 0.0
            curves = np.concatenate([np.full((len(curves), 1), first), curves], axis=1)
        usual = {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": STYLES[place // len(COLOURS) % len(STYLES)],
            "label": plain_label(name),
        }
        draw_mean(ax, rounds, curves, shade=0.2, **(usual | style))


# ---------------------------------------------------------------- frames


class Played(NamedTuple):
    """Replications of one policy in one world, for a frame."""

    names: dict[str, Any]  # what stands before the numbers …
    facts: dict[str, Any]  # … and after them
    replications: NDArray[np.int64]
    rounds: NDArray[np.int64]  # of the checkpoints
    values: NDArray[np.float64]  # as in a ``Result``

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns of numbers, with a row for each replication and checkpoint."""
        names = columns_in(self.values)
        numbers = dict(zip(names, self.values.reshape(-1, len(names)).T, strict=True))
        return {
            "replication": np.repeat(self.replications, self.rounds.size),
            "round": np.tile(self.rounds, len(self.replications)),
            **{name: column.astype(np.int64) if name in WHOLE else column for name, column in numbers.items()},
        }


WHOLE = ("restarts", "blocks", "arms", "L", "L_R")
"""The columns that count."""

LONGEST_FACT = 200
"""Of a text in a frame, which has it in every row: a list of thousands of means is cut, and told apart by a digest."""


def frame_of(parts: Iterable[Played]) -> Any:
    """A tidy pandas frame of all parts. Facts that a part does not have are missing there."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install 'manyarms[lab]'") from None
    parts = list(parts)
    numbers = [part.columns() for part in parts]
    rows = np.repeat(np.arange(len(parts)), [len(columns["round"]) for columns in numbers])
    joined = pd.DataFrame({name: np.concatenate([columns[name] for columns in numbers]) for name in numbers[0]})
    # A row for each part first, so that a column has one type, and then repeated.
    names, facts = pd.DataFrame([part.names for part in parts]), pd.DataFrame([part.facts for part in parts])
    repeated = (each.iloc[rows].reset_index(drop=True) for each in (names, facts))
    return pd.concat([next(repeated), joined, *repeated], axis=1)


def fields_of(name: str, spec: Spec) -> dict[str, Any]:
    """The fields of a spec, those of specs in it too, by names with dots; lists as texts.

    Examples
    --------
    >>> import manyarms as ma
    >>> fields_of("policy", ma.Subsample(base=ma.UCB(), beta=1.0, arms=9))
    {'policy.type': 'Subsample', 'policy.base.type': 'UCB', 'policy.base.width': 2.0, 'policy.beta': 1.0,
     'policy.arms': 9, 'policy.horizon': None}
    """
    return dict(_fields(name, spec.to_json()))


def _fields(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for field, part in value.items():
            yield from _fields(f"{name}.{field}", part)
    elif isinstance(value, list):
        text = json.dumps(value, ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        yield name, text if len(text) <= LONGEST_FACT else f"{text[:LONGEST_FACT]}… {digest}"
    else:
        yield name, value


# ---------------------------------------------------------------- pictures


def draw_mean(ax: Any, rounds: NDArray[np.int64], curves: NDArray[np.float64], shade: float, **look: Any) -> Any:
    """Draw the mean of some curves with its 95 % band, if there are several; return its line."""
    means, half_widths = means_and_half_widths(curves)
    (line,) = ax.plot(rounds, means, **look)
    if len(curves) > 1:
        band = (means - half_widths, means + half_widths)
        ax.fill_between(rounds, *band, color=line.get_color(), alpha=shade, linewidth=0)
    return line


# Okabe & Ito's palette, which people with colour-blindness can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":")


def plain_label(name: str) -> str:
    """A name that matplotlib shows as it is: a dollar would begin a formula, a leading underscore hide it."""
    return ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")


PER_ROUND = "reward a round"
"""The average reward from the first round on."""

AT_A_TIME = (PER_ROUND, SIMPLE_REGRET)
"""The columns that are not summed up from the first round on."""


def column_of(values: NDArray[np.float64], column: str, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """One number for each replication and checkpoint, which are ``rounds``; an episode ends with each restart."""
    if column == "episodes":
        return values[:, :, COLUMNS.index("restarts")] + 1.0
    if column == PER_ROUND:
        return np.asarray(values[:, :, COLUMNS.index("reward")] / rounds, dtype=np.float64)
    kept = columns_in(values)
    if column not in kept:
        hint = "; ask for it with recommend=True" if column == SIMPLE_REGRET else ""
        raise KeyError(f"no column {column!r}; there are {', '.join(kept)}, {PER_ROUND} and episodes{hint}")
    return values[:, :, kept.index(column)]


def regret_and_reward(regret_first: bool, regret: dict[str, Any], reward: dict[str, Any]) -> dict[str, Any]:
    """Columns of a row on both, in that order or the other."""
    return regret | reward if regret_first else reward | regret
