"""Study: a question as a small file, policies × worlds × horizons × replications × seed.

A study is TOML or the same as Python objects. What stands under ``[for_each]`` is filled in wherever a
text says ``{name}``: so one table describes a world for every beta, and the policies that are told it.
A study's *cells* are what is run: one policy in one world over one horizon, all replications.
"""

import dataclasses
import functools
import hashlib
import importlib.resources
import itertools
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from ...engine import LONGEST_RUN, MOST_CHECKPOINTS, checkpoint_rounds
from ...policies.base import Policy, check_feedback, checked_slots
from ...specs import RAISED, Count, Flag, Spec, as_raised, checked_seed, checks_of, count, several, spec_from_json
from ...trace import columns_kept
from ...world import World

SUFFIX = ".toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FILLED = re.compile(r"\{(\w+)\}")

LONGEST_NAME = 255
"""Of a folder, in bytes: what common file systems allow."""

MOST_CELLS = 100_000
"""Of a study: some ten seconds to read it, and some minutes to write a file for each. More is taken for a mistake."""

GRID = ("horizons", "for_each", "worlds", "policies")
FIELDS = ("name", "about", "seed", "replications", "checkpoints", "recommend", *GRID)
"""What a study's file may say; what makes its cells comes last."""

NEEDED = {
    "name": 'name = "mine"',
    "replications": "replications = 100",
    "horizons": "horizons = [10_000]",
    "worlds": '[worlds.still] with reservoir = {type = "Uniform"} below it',
    "policies": '[policies.mine] with type = "UniformPlay" below it',
}
"""What a study's file must say, and how."""

NESTED = "tables or lists stand too deeply inside one another; write them flatter"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One policy in one world over one horizon."""

    world_name: str
    world: World
    policy_name: str
    policy: Policy
    horizon: int

    @property
    def label(self) -> str:
        """What to call it."""
        return f"{self.policy_name}, {self.world_name}, horizon {self.horizon:,}"

    def to_json(self) -> dict[str, Any]:
        """The cell as plain JSON values."""
        return {name: value.to_json() if isinstance(value, Spec) else value for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The cell that ``to_json`` described."""
        return cls(
            **{name: spec_from_json(value) if isinstance(value, Mapping) else value for name, value in values.items()}
        )


def checked_name(owner: str, name: str, value: Any) -> str:
    """A name that a folder can have."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"Study: {name} must be letters, digits, '.', '-' and '_', not {value!r}")
    if len(value) > LONGEST_NAME:
        raise ValueError(
            f"Study: {name} must have at most {LONGEST_NAME} characters, as a folder is called so; "
            f"{value[:20] + '…'!r} has {len(value)}"
        )
    return value


def checked_cells(owner: str, name: str, cells: Any) -> tuple[Cell, ...]:
    """Cells that can be played, no two of one name."""
    found: dict[tuple[str, str, int], Cell] = {}
    for cell in several(owner, name, cells):
        if not isinstance(cell, Cell):
            raise ValueError(f"{owner}: each of the {name} must be a Cell, not {cell!r}")
        horizon = count(owner, "each of the horizons", cell.horizon)
        if horizon > LONGEST_RUN:
            raise ValueError(f"{owner}: horizons must be at most {LONGEST_RUN} (2^31 - 1), not {horizon}")
        checked_slots(cell.policy.with_horizon(horizon), horizon)
        check_feedback(cell.policy, cell.world.feedback)
        key = (cell.world_name, cell.policy_name, horizon)
        if key in found:
            raise ValueError(
                f"{owner}: the cell {cell.label!r} is there twice; name each horizon once, or give worlds other names"
            )
        found[key] = cell if type(cell.horizon) is int else dataclasses.replace(cell, horizon=horizon)
    if not found:
        raise ValueError(f"{owner}: it has no {name}; give it policies, worlds and horizons")
    check_number(owner, {name: len(found)})
    return tuple(found.values())


def check_number(owner: str, lengths: Mapping[str, int]) -> None:
    """Refuse a study of too many cells, given how many there are of each thing; nothing is made for that.

    Examples
    --------
    >>> check_number("study s", {"worlds": 1, "policies": 2, "horizons": 1, "for_each.beta": 10**6})
    Traceback (most recent call last):
    ValueError: study s: it would have 2,000,000 cells (2 policies × 1,000,000 for_each.beta), and 100,000 are the most;
    shorten a list, or make several studies of it
    """
    cells = math.prod(lengths.values())
    if cells > MOST_CELLS:
        number = f"{cells:,}" if cells < 10**15 else f"some 10^{math.log10(cells):.0f}"
        factors = [f"{length:,} {name}" for name, length in lengths.items() if length > 1]
        shown = " × ".join(factors if len(factors) <= 12 else [*factors[:12], "…"])
        raise ValueError(
            f"{owner}: it would have {number} cells ({shown}), and {MOST_CELLS:,} are the most; shorten a list, or "
            "make several studies of it"
        )


def whole_numbers(owner: str, name: str, values: Any) -> tuple[int, ...]:
    """A list, a range or an array of whole numbers above 0, as a tuple.

    Examples
    --------
    >>> whole_numbers("study s", "horizons", np.array([100, 200]))
    (100, 200)
    """
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(plain, Sequence) or isinstance(plain, (str, bytes)):
        raise ValueError(f"{owner}: {name} must be a list of whole numbers, not {values!r}")
    if len(plain) > MOST_CHECKPOINTS:
        raise ValueError(f"{owner}: {name} must be at most {MOST_CHECKPOINTS:,} numbers, not {len(plain):,}")
    return tuple(count(owner, f"each of the {name}", value) for value in plain)


def checked_checkpoints(owner: str, name: str, checkpoints: Any) -> int | tuple[int, ...]:
    """How many checkpoints, or which."""
    check = whole_numbers if isinstance(checkpoints, (Sequence, np.ndarray)) else count
    return check(owner, name, checkpoints)


def checked_study_seed(owner: str, name: str, seed: Any) -> int:
    """A seed; an error names the study."""
    try:
        return checked_seed(seed)
    except ValueError as error:
        raise ValueError(f"{owner}: {error}") from None


def checked_text(owner: str, name: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{owner}: {name} must be a text, not {value!r}")
    return value


@dataclasses.dataclass(frozen=True)
class Study:
    """What is to be found out.

    Parameters
    ----------
    name
        Letters, digits, dots, dashes and underscores: files and folders are called so.
    cells
        What is run. ``Study.of`` makes them from policies, worlds and horizons.
    replications
        How many of each cell.
    seed
        Of all of them: cells of one study share their random numbers, and are paired.
    checkpoints
        At how many rounds numbers are kept, or at which.
    about
        One sentence: the question.
    recommend
        Whether simple regret is kept, too: the gap of the arm that a policy would recommend at a checkpoint.
    file
        The name of the TOML file it was read from, if it was: what a report calls it. No part of the study.

    Examples
    --------
    >>> import manyarms as ma
    >>> study = Study.of(
    ...     "small",
    ...     policies={"elimination": ma.Elimination(beta=1.0), "anything": ma.UniformPlay()},
    ...     worlds={"still": ma.World(ma.PowerLaw(beta=1.0))},
    ...     horizons=[1000, 2000],
    ...     replications=10,
    ... )
    >>> [cell.label for cell in study.cells][0]
    'elimination, still, horizon 1,000'
    """

    name: Annotated[str, checked_name]
    cells: Annotated[tuple[Cell, ...], checked_cells]
    replications: Count
    seed: Annotated[int, checked_study_seed] = 0
    checkpoints: Annotated[int | tuple[int, ...], checked_checkpoints] = 64
    about: Annotated[str, checked_text] = ""
    recommend: Flag = False
    file: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        for name, check in checks_of(Study).items():
            object.__setattr__(self, name, check(f"study {self.name}", name, getattr(self, name)))
        longest = max(self.cells, key=lambda cell: cell.horizon)
        if isinstance(self.checkpoints, int) and min(self.checkpoints, longest.horizon) > MOST_CHECKPOINTS:
            raise ValueError(
                f"study {self.name}: checkpoints must be at most {MOST_CHECKPOINTS:,}, not {self.checkpoints:,}, which "
                f"the cell {longest.label!r} would keep numbers at"
            )

    @classmethod
    def of(
        cls,
        name: str,
        policies: Mapping[str, Policy],
        worlds: Mapping[str, World],
        horizons: Sequence[int] | NDArray[np.integer],
        replications: int,
        seed: int = 0,
        checkpoints: int | Sequence[int] | NDArray[np.integer] = 64,
        about: str = "",
        recommend: bool = False,
    ) -> Self:
        """Every policy in every world over every horizon."""
        cells = tuple(crossed(name, policies, worlds, horizons))
        terms: Any = (name, cells, replications, seed, checkpoints, about, recommend)  # looked at there
        return cls(*terms)

    def rounds_kept(self, cell: Cell) -> NDArray[np.int64]:
        """The rounds at which a cell's numbers are kept."""
        kept = self.checkpoints
        if not isinstance(kept, int):
            kept = tuple(round for round in kept if round <= cell.horizon)
        return checkpoint_rounds(kept, cell.horizon)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is kept at every checkpoint."""
        return columns_kept(self.recommend)

    def worlds(self) -> Iterator[tuple[str, World]]:
        """The world of each cell, by its name."""
        return ((cell.world_name, cell.world) for cell in self.cells)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def rounds(self) -> int:
        """How many rounds there are to play, in all."""
        return self.replications * sum(cell.horizon for cell in self.cells)

    def to_json(self, cells: Sequence[Cell] | None = None) -> dict[str, Any]:
        """The study as plain JSON values, every cell written out, or only these.

        Without a word on recommendations that are not asked for, so studies from before there were any keep their
        digests.
        """
        asked = {"recommend": True} if self.recommend else {}
        return asked | {
            "name": self.name,
            "about": self.about,
            "seed": self.seed,
            "replications": self.replications,
            "checkpoints": self.checkpoints if isinstance(self.checkpoints, int) else list(self.checkpoints),
            "cells": [cell.to_json() for cell in (self.cells if cells is None else cells)],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The study that ``to_json`` described.

        Examples
        --------
        >>> study = named_study("rising-is-benign")
        >>> Study.from_json(study.to_json()) == study
        True
        """
        return cls(**(dict(values) | {"cells": tuple(map(Cell.from_json, values["cells"]))}))

    def digest(self) -> str:
        """Sixteen hex digits that identify the study."""
        return self._digest

    @functools.cached_property
    def _digest(self) -> str:
        return study_digest(self.to_json())


def study_digest(values: Mapping[str, Any]) -> str:
    """The digest of the study that these JSON values describe, whether or not its types are known here."""
    said = {name: value for name, value in values.items() if name != "file"}  # no part of the study
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def crossed(name: Any, policies: Any, worlds: Any, horizons: Any) -> list[Cell]:
    """Every policy in every world over every horizon; worlds first, then horizons."""
    owner = f"study {checked_name('Study', 'name', name)}"
    for what, given, kind in (("policies", policies, Policy), ("worlds", worlds, World)):
        if not isinstance(given, Mapping) or not given:
            raise ValueError(
                f"{owner}: {what} must be a table of named {what}, as in {{'mine': {kind.__name__}(…)}}, not {given!r}"
            )
        for key, spec in given.items():
            if not isinstance(key, str) or not key:
                raise ValueError(f"{owner}: the names of {what} must be texts with something in them, not {key!r}")
            if not isinstance(spec, kind):
                raise ValueError(f"{owner}: {what}.{key} must be a {kind.__name__}, not {spec!r}")
    number = len(horizons) if isinstance(horizons, Sequence) else np.size(horizons)
    check_number(owner, {"policies": len(policies), "worlds": len(worlds), "horizons": number})
    lengths = whole_numbers(owner, "horizons", horizons)
    if not lengths:
        raise ValueError(f"{owner}: horizons must be a list with something in it, not {horizons!r}")
    return [
        Cell(world_name, world, policy_name, policy, horizon)
        for world_name, world in worlds.items()
        for horizon in lengths
        for policy_name, policy in policies.items()
    ]


def read_study(path: str | Path) -> Study:
    """The study in a TOML file; its errors name the file, the field and the remedy."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no study {str(path)!r}; named ones: {', '.join(study_names())}") from None
    except IsADirectoryError:
        raise IsADirectoryError(
            f"{path} is a folder; give the TOML file of a study, such as {path}/study.toml"
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}: line {line} is not UTF-8, as TOML must be; save the file as UTF-8") from None
    return parse_study(text, str(path), file=path.name)


def parse_study(text: str, where: str = "study", *, file: str = "") -> Study:
    """The study that a TOML text describes; an error begins with ``where``.

    Examples
    --------
    >>> study = parse_study('''
    ... name = "two-betas"
    ... replications = 10
    ... horizons = [1000]
    ... [for_each]
    ... beta = [0.5, 1.0]
    ... [worlds."beta {beta}"]
    ... reservoir = {type = "PowerLaw", beta = "{beta}"}
    ... [policies.elimination]
    ... type = "Elimination"
    ... beta = "{beta}"
    ... ''')
    >>> [cell.world_name for cell in study.cells]
    ['beta 0.5', 'beta 1.0']
    """
    values = _fields(text, where)
    grid = {field: values.pop(field) for field in GRID if field in values}
    try:
        check_number(f"study {values['name']}", _lengths(grid))
        cells = []
        for filling in fillings(grid.get("for_each", {})):
            worlds = _specs("worlds", grid["worlds"], filling, "World")
            policies = _specs("policies", grid["policies"], filling)
            cells += crossed(values["name"], policies, worlds, grid["horizons"])
        return Study(cells=tuple(cells), file=file, **values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None
    except RecursionError:
        raise ValueError(f"{where}: {NESTED}") from None


def _fields(text: str, where: str) -> dict[str, Any]:
    """What a TOML text says, if it has the fields of a study."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: not a TOML file: {error}") from None
    except RecursionError:
        raise ValueError(f"{where}: {NESTED}") from None
    except ValueError:  # Python reads no integer of thousands of digits
        raise ValueError(f"{where}: a number has too many digits; numbers must be below 2^64") from None
    unknown = sorted(set(values) - set(FIELDS))
    if unknown:
        raise ValueError(f"{where}: there is no field {unknown[0]!r}; the fields are {', '.join(FIELDS)}")
    for field, such_as in NEEDED.items():
        if field not in values:
            raise ValueError(f"{where}: the field {field!r} is missing; write it as in {such_as}")
    return values


def _lengths(grid: Mapping[str, Any]) -> dict[str, int]:
    """How many there are of each thing that makes a study's cells; what is wrong with one of them is said elsewhere."""
    for_each = grid.get("for_each", {})
    lists = {f"for_each.{name}": values for name, values in for_each.items()} if isinstance(for_each, Mapping) else {}
    parts = {field: grid[field] for field in ("policies", "worlds", "horizons")} | lists
    return {name: len(part) for name, part in parts.items() if isinstance(part, (list, dict))}


def fillings(for_each: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of the values under ``for_each``."""
    if not isinstance(for_each, Mapping):
        raise ValueError(f"for_each must be a table of lists, not {for_each!r}")
    for name, values in for_each.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"for_each.{name} must be a list with something in it, not {values!r}")
    return (dict(zip(for_each, values, strict=True)) for values in itertools.product(*for_each.values()))


def _specs(field: str, tables: Any, filling: Mapping[str, Any], kind: str | None = None) -> dict[str, Any]:
    """The specs of one table of a study, filled in."""
    if not isinstance(tables, Mapping):
        raise ValueError(f"{field} must be a table of named {field}, as in {NEEDED[field]}, not {tables!r}")
    found: dict[str, Spec] = {}
    for name, table in tables.items():
        place = f"{field}.{name}"
        if not isinstance(table, Mapping):
            raise ValueError(f"{place} must be a table, as in {NEEDED[field]}, not {table!r}")
        values = filled(place, table, filling)
        key = filled_name(place, name, filling)
        if key in found:
            raise ValueError(f"{place}: {key!r} is there twice; give one of the {field} another name")
        try:
            found[key] = spec_from_json(({"type": kind} if kind else {}) | values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{place}: {error}") from None
        except RAISED as error:  # a type of one's own may raise anything
            raise ValueError(f"{place}: {as_raised(error, ())}") from error
    return found


def filled(place: str, value: Any, filling: Mapping[str, Any]) -> Any:
    """A value of a study with ``"{name}"`` replaced by what it stands for, and ``"… {name} …"`` by text."""
    if isinstance(value, Mapping):
        return {key: filled(f"{place}.{key}", part, filling) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(place, part, filling) for part in value]
    if isinstance(value, str):
        whole = _FILLED.fullmatch(value)
        if whole and whole[1] in filling:
            return filling[whole[1]]
        return filled_name(place, value, filling)
    return value


def filled_name(place: str, text: str, filling: Mapping[str, Any]) -> str:
    """A text with every ``{name}`` in it replaced."""
    for name in _FILLED.findall(text):
        if name not in filling:
            raise ValueError(f"{place}: {{{name}}} in {text!r} stands for nothing; put it under [for_each]")
    return _FILLED.sub(lambda found: str(filling[found[1]]), text)


NAMED_STUDIES: dict[str, Callable[[], Any]] = {}
"""Studies that have a name and are made by a function, where a table would not do: the package's and one's own."""


def study_names() -> list[str]:
    """The studies that come with the package, and those of one's own in ``NAMED_STUDIES``."""
    for name in NAMED_STUDIES:
        if not isinstance(name, str):
            raise ValueError(f"the names in NAMED_STUDIES must be texts, not {name!r}")
    return sorted([*NAMED_STUDIES, *_files()])


def _files() -> dict[str, Any]:
    """The files of studies that come with the package, by their names."""
    folder = importlib.resources.files(__package__.partition(".")[0]) / "studies"
    return {file.name.removesuffix(SUFFIX): file for file in folder.iterdir() if file.name.endswith(SUFFIX)}


def named_study(name: str) -> Study:
    """A study that has a name: one of ``study_names()``."""
    if name in NAMED_STUDIES:
        return _made(name, NAMED_STUDIES[name])
    files = _files()
    if name not in files:
        raise LookupError(f"no study is called {name!r}; there are {', '.join(study_names())}")
    return parse_study(files[name].read_text(encoding="utf-8"), f"study {name}")


def _made(name: str, function: Any) -> Study:
    """What the function of a named study gives, if it is a study; anything may stand there."""
    if not callable(function):
        raise ValueError(f"study {name}: in NAMED_STUDIES must be a function that gives a Study, not {function!r}")
    try:
        made = function()
    except RAISED as error:
        place = as_raised(error, {getattr(function, "__module__", "")})
        raise ValueError(f"study {name}: its function in NAMED_STUDIES has raised an error, {place}") from error
    if not isinstance(made, Study):
        raise ValueError(f"study {name}: its function must give a Study, not {made!r}")
    return made


def find_study(name_or_path: str) -> Study:
    """A study by its name, or by the path of its file."""
    is_path = name_or_path.endswith(SUFFIX) or Path(name_or_path).is_file()
    return read_study(name_or_path) if is_path and name_or_path not in study_names() else named_study(name_or_path)
