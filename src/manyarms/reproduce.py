"""Reproduce: the world of the paper's figure, the paper's two algorithms and its rival in it.

Suk & Kim, Section 7: means 1 - U^(1/beta), the played arm loses 1/t at round t, losses uniform
between 0 and twice the gap. Every policy meets the same arms and the same noise.
"""

from collections.abc import Sequence
from typing import Any

from .bases import UCB
from .drifts import Rotting
from .engine import simulate
from .noises import GapUniform
from .policies import SSUCB, Blackbox, Elimination, Policy, UniformPlay
from .reservoirs import PowerLaw
from .results import COLOURS, Result, Table, mean_and_half_width
from .world import World

BETAS = (0.8, 1.0, 1.2)
HORIZON = 100_000
REPLICATIONS = 50
SEED = 1


def figure_world(beta: float) -> World:
    """The world of the figure."""
    return World(PowerLaw(beta=beta), Rotting(rate="1/t"), GapUniform())


def figure_policies(beta: float) -> dict[str, Policy]:
    """The paper's algorithms as its text states them, as its figure set them, and calibrated."""
    return {
        "Elimination, paper": Elimination(beta=beta, preset="paper"),
        "Elimination, published": Elimination(beta=beta, preset="published"),
        "Elimination, calibrated": Elimination(beta=beta),
        "Blackbox(UCB), paper": Blackbox(base=UCB(), beta=beta, preset="paper"),
        "Blackbox(UCB), published": Blackbox(base=UCB(), beta=beta, preset="published"),
        "Blackbox(UCB), calibrated": Blackbox(base=UCB(), beta=beta),
        "SSUCB, published": SSUCB(beta=beta, preset="published"),
        "SSUCB, calibrated": SSUCB(beta=beta),
        "UniformPlay": UniformPlay(),
    }


def reproduce(
    betas: Sequence[float] = BETAS,
    horizon: int = HORIZON,
    replications: int = REPLICATIONS,
    seed: int = SEED,
    device: str = "cpu",
) -> dict[float, Result]:
    """One result for each beta; interrupted, those until then."""
    results = {}
    for beta in betas:
        results[beta] = simulate(figure_policies(beta), figure_world(beta), horizon, replications, seed, device=device)
        if not results[beta].is_complete:
            break
    return results


def rows(results: dict[float, Result]) -> list[dict[str, Any]]:
    """One row for each policy and beta."""
    found = []
    for beta, result in results.items():
        for name in result.policies:
            mean, half_width = mean_and_half_width(result.final_regret(name))
            found.append(
                {
                    "policy": name,
                    "beta": beta,
                    "horizon": result.horizon,
                    "replications": len(result.replications[name]),
                    "mean": mean,
                    "half_width": half_width,
                    "restarts": float(result.final(name, "restarts").mean()),
                }
            )
    return found


def table(results: dict[float, Result]) -> Table:
    """Policies down, betas across: mean regret with its 95 % half-width, and restarts."""
    lines = []
    for name in next(iter(results.values())).policies:
        line: dict[str, Any] = {"policy": name}
        for beta, result in results.items():
            mean, half_width = mean_and_half_width(result.final_regret(name))
            line[f"beta {beta:g}"] = f"{mean:,.0f} ± {half_width:,.0f}".rjust(13)
            line[f"restarts ({beta:g})"] = float(result.final(name, "restarts").mean())
        lines.append(line)
    return Table(lines)


def figure(results: dict[float, Result]) -> Any:
    """Regret curves, one panel for each beta: a colour for each policy, a line style for each preset."""
    import matplotlib.pyplot as plt

    picture, panels = plt.subplots(
        1, len(results), figsize=(4.6 * len(results), 4.4), sharey=True, layout="constrained", squeeze=False
    )
    for panel, (beta, result) in zip(panels[0], results.items(), strict=True):
        result.plot(ax=panel, styles=line_styles(result))
        panel.set_title(f"beta = {beta:g}")
        panel.get_legend().remove()
        panel.locator_params(axis="x", nbins=4)
    for panel in panels[0][1:]:
        panel.set_ylabel("")
    panels[0][0].set_ylim(0.0, 1.04 * max(result[name][:, :, 0].mean(axis=0).max() for result, name in _cells(results)))
    picture.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return picture


def _cells(results: dict[float, Result]) -> list[tuple[Result, str]]:
    return [(result, name) for result in results.values() for name in result.policies]


def line_styles(result: Result) -> dict[str, dict[str, Any]]:
    """The same colour for a policy's presets, and the same line for a preset's policies."""
    lines = {"paper": ":", "published": "--", "calibrated": "-", "": "-."}
    families = list(dict.fromkeys(name.partition(", ")[0] for name in result.policies))
    return {
        name: {"color": COLOURS[families.index(family)], "linestyle": lines[preset]}
        for name in result.policies
        for family, _, preset in [name.partition(", ")]
    }
