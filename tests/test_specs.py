"""Specs: fields that check themselves, errors that name them, and JSON that nothing moves."""

import dataclasses
import functools
import json
import math
import pickle
import sys
import types
from typing import Annotated, Any

import numpy as np
import pytest

import manyarms as ma
from manyarms.bases import Base
from manyarms.noises import Noise
from manyarms.specs import (
    FURTHEST,
    SPEC_TYPES,
    Checked,
    Count,
    Flag,
    Fraction,
    Number,
    Positive,
    among,
    checks_of,
    count,
    of_kind,
    two_or_more,
    whole,
)


def doubled(owner: str, name: str, value: Any) -> Any:
    """A check of one's own: it may change the value, and refuses what it knows by owner and name."""
    if value == 13:
        raise ValueError(f"{owner}: {name} must not be {value!r}; take another number")
    return 2 * value


@dataclasses.dataclass(frozen=True)
class Fields(Checked):
    """One field of every sort."""

    above: Positive = 1
    part: Fraction = 0
    many: Count = 2.0
    from_zero: Annotated[int, functools.partial(count, least=0)] = 0
    any_number: Number = -0.0
    is_on: Flag = True
    word: Annotated[str, among(("one", "two"))] = "one"
    exact: Annotated[int, whole] = 0
    own: Annotated[int, doubled] = 1
    maybe: Count | None = None
    maybe_own: Annotated[int, doubled] | None = None
    list_of: tuple[Fraction, ...] = ()
    maybe_list: tuple[Count, ...] | None = None
    noise: Noise = ma.Bernoulli()
    base: Annotated[Base, of_kind(Base, such_as="ma.UCB()")] = ma.UCB()
    noises: Annotated[tuple[Noise, ...], two_or_more(Noise)] = (ma.Bernoulli(), ma.Exact())
    free: Any = None
    free_list: tuple[float, ...] = ()


def test_a_value_is_kept_as_its_check_returns_it():
    fields = Fields(
        above=np.int64(3),
        part=1,
        many=np.float32(4.0),
        own=5,
        maybe=7.0,
        maybe_own=2,
        list_of=[0, np.float64(1.0)],
        maybe_list=range(1, 3),
        noises=[ma.Exact(), ma.Exact()],
        free=[1],
        free_list=[1],
    )
    assert (fields.above, fields.part, fields.many, fields.own) == (3.0, 1.0, 4, 10)
    assert [type(value) for value in (fields.above, fields.part, fields.many)] == [float, float, int]
    assert (fields.maybe, fields.maybe_own) == (7, 4)
    assert type(fields.maybe) is int
    assert fields.list_of == (0.0, 1.0)
    assert [type(value) for value in fields.list_of] == [float, float]
    assert fields.maybe_list == (1, 2)
    assert fields.noises == (ma.Exact(), ma.Exact())
    assert fields.free == [1]  # nobody asked for a check
    assert fields.free_list == [1]


def test_defaults_are_checked_too():
    fields = Fields()
    assert type(fields.above) is float
    assert (fields.many, type(fields.many)) == (2, int)
    assert fields.own == 2
    assert math.copysign(1.0, fields.any_number) == 1.0  # no negative zero
    assert (fields.maybe, fields.maybe_own, fields.maybe_list) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        ("above", 0, ValueError, "above must be above 0, not 0"),
        ("above", None, ValueError, "above must be a finite number, not None"),
        ("above", True, ValueError, "above must be a finite number, not True"),
        ("part", 1.5, ValueError, "part must lie in [0, 1], not 1.5"),
        ("many", 0, ValueError, "many must be a whole number of at least 1, not 0"),
        ("many", 2.5, ValueError, "many must be a whole number of at least 1, not 2.5"),
        ("many", 2**63, ValueError, "many must be below 2^63, not 9223372036854775808"),
        ("from_zero", -1, ValueError, "from_zero must be a whole number of at least 0, not -1"),
        ("any_number", "x", ValueError, "any_number must be a finite number, not 'x'"),
        ("is_on", 1, ValueError, "is_on must be True or False, not 1"),
        ("word", "three", ValueError, "word must be one of 'one', 'two', not 'three'"),
        ("word", ["one"], ValueError, "word must be one of 'one', 'two', not ['one']"),
        ("exact", 1.0, ValueError, "exact must be a whole number, not 1.0"),
        ("exact", 2**70, ValueError, "exact must be a whole number from -2^62 to 2^62, not 1180591620717411303424"),
        ("own", 13, ValueError, "own must not be 13; take another number"),
        ("maybe", 0, ValueError, "maybe must be a whole number of at least 1, not 0"),
        ("maybe_own", 13, ValueError, "maybe_own must not be 13; take another number"),
        ("list_of", [0.5, 2], ValueError, "each of the list_of must lie in [0, 1], not 2"),
        ("list_of", 0.5, ValueError, "list_of must be a list, not 0.5"),
        ("list_of", None, ValueError, "list_of must be a list, not None"),
        ("maybe_list", [0], ValueError, "each of the maybe_list must be a whole number of at least 1, not 0"),
        ("noise", 3, TypeError, "noise must be a Noise, not 3"),
        ("noise", None, TypeError, "noise must be a Noise, not None"),
        ("noise", ma.Exact, TypeError, "noise must be a Noise, not <class 'manyarms.noises.Exact'>; write ma.Exact(…)"),
        ("noise", ma.Still(), TypeError, "noise must be a Noise, not Still()"),
        ("base", "ucb", TypeError, "base must be a Base such as ma.UCB(), not 'ucb'"),
        ("noises", [ma.Exact()], ValueError, "noises must be two or more noises, not [Exact()]"),
        ("noises", (ma.Exact(), 3), ValueError, "noises must be two or more noises, not (Exact(), 3)"),
        ("noises", 3, ValueError, "noises must be a list, not 3"),
    ],
)
def test_errors_name_owner_field_and_value(field, value, error, message):
    with pytest.raises(error) as refused:
        Fields(**{field: value})
    assert str(refused.value) == f"Fields: {message}"


def test_a_spec_in_the_place_of_another_is_told_its_own():
    with pytest.raises(TypeError, match=r"^World: drift must be a Drift, not Exact\(\); pass it as noise=…$"):
        ma.World(ma.Uniform(), ma.Exact())
    with pytest.raises(TypeError, match=r"^World: drift must be a Drift, not UCB\(width=2.0\)$"):
        ma.World(ma.Uniform(), ma.UCB())  # a world has no place for a base


@pytest.mark.parametrize(
    ("least", "most", "value", "span"),
    [
        (1, FURTHEST, 0, "of at least 1"),
        (1, FURTHEST, 2**62 + 1, r"from 1 to 2\^62"),
        (1, 1000, 1001, "from 1 to 1,000"),
        (1, 1000, "x", "from 1 to 1,000"),
        (0, FURTHEST, True, "of at least 0"),
    ],
)
def test_whole_numbers_name_their_range(least, most, value, span):
    assert whole("f", "x", np.int32(1), least, most) == 1
    with pytest.raises(ValueError, match=f"^f: x must be a whole number {span}, not "):
        whole("f", "x", value, least, most)


def test_a_subclass_checks_what_it_inherits_and_what_it_adds():
    @dataclasses.dataclass(frozen=True)
    class More(Fields):
        more: Positive = 1

    assert list(checks_of(More))[-1] == "more"
    assert len(checks_of(More)) == len(checks_of(Fields)) + 1
    with pytest.raises(ValueError, match=r"^More: above must be above 0"):
        More(above=0)
    with pytest.raises(ValueError, match=r"^More: more must be above 0"):
        More(more=0)


def test_unchecked_dataclasses_have_no_checks():
    assert list(checks_of(ma.Still)) == []


# A module of a user's own, in which annotations are texts.

FUTURE = """
from __future__ import annotations
import dataclasses
import functools
from typing import TYPE_CHECKING, Annotated, Any
from manyarms.noises import Noise
from manyarms.specs import Fraction, Positive, count, of_kind
if TYPE_CHECKING:
    from manyarms.specs import Count

@dataclasses.dataclass(frozen=True)
class OwnNoise(Noise):
    scale: Positive
    share: Fraction | None = None
    steps: Annotated[int, functools.partial(count, least=2)] = 2
    within: Noise | None = None
    def start(self) -> Any:
        return None

@dataclasses.dataclass(frozen=True)
class BlindNoise(Noise):
    times: Count = 1
    def start(self) -> Any:
        return None
"""


@pytest.fixture
def own(monkeypatch):
    module = types.ModuleType("own_noises")
    monkeypatch.setitem(sys.modules, "own_noises", module)
    known = dict(SPEC_TYPES)
    exec(compile(FUTURE, "own_noises", "exec", dont_inherit=True), vars(module))
    yield module
    SPEC_TYPES.clear()
    SPEC_TYPES.update(known)


def test_annotations_may_be_texts(own):
    spec = own.OwnNoise(scale=1, share=1, steps=3.0, within=ma.Exact())
    assert dataclasses.fields(spec)[0].type == "Positive"  # or this test tests nothing
    assert spec.to_json() == {
        "type": "OwnNoise",
        "scale": 1.0,
        "share": 1.0,
        "steps": 3,
        "within": {"type": "Exact"},
    }
    assert ma.spec_from_json(json.loads(json.dumps(spec.to_json()))) == spec
    for values, message in [
        ({"scale": 0}, "scale must be above 0, not 0"),
        ({"scale": 1, "share": 2}, r"share must lie in \[0, 1\], not 2"),
        ({"scale": 1, "steps": 1}, "steps must be a whole number of at least 2, not 1"),
        ({"scale": 1, "within": 3}, "within must be a Noise, not 3"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"^OwnNoise: {message}$"):
            own.OwnNoise(**values)


def test_a_type_that_only_type_checkers_see_is_refused(own):
    with pytest.raises(TypeError, match=r"^BlindNoise: the type of a field is not known .*'Count'.*; import it"):
        own.BlindNoise()


# What is written in JSON, and so every random stream, is what it was before fields checked themselves.


@pytest.mark.parametrize(
    ("spec", "text", "digest"),
    [
        (ma.PowerLaw(1), '{"beta":1.0,"top":1.0,"type":"PowerLaw"}', 2567934822388877793),
        (ma.BetaDistributed(2, np.float32(3)), '{"a":2.0,"b":3.0,"type":"BetaDistributed"}', 6388364785629636053),
        (ma.Empirical([0, 1]), '{"means":[0.0,1.0],"type":"Empirical"}', 1279769840302589050),
        (ma.JumpAt(3.0, -1), '{"play":3,"size":-1.0,"type":"JumpAt"}', 6838484567046516677),
        (ma.Crash(0, to=1), '{"probability":0.0,"to":1.0,"type":"Crash"}', 13218543727653756051),
        (ma.Rotting(1), '{"rate":1.0,"type":"Rotting"}', 11687015063031535889),
        (ma.Rising("1 / t"), '{"rate":"1 / t","type":"Rising"}', 8763465319828113876),
        (ma.Turnover(np.int64(5), to=-0.0), '{"length":5,"to":0.0,"type":"Turnover"}', 14218924513196298974),
        (ma.UCB(2), '{"type":"UCB","width":2.0}', 11506170092180303146),
        (
            ma.Phases([ma.Still(), ma.Fatigue(2, 1)], ends=[9.0]),
            '{"drifts":[{"type":"Still"},{"after":2,"rate":1.0,"type":"Fatigue"}],"ends":[9],"type":"Phases"}',
            14334841270644818003,
        ),
        (
            ma.Mixture([ma.Uniform(), ma.Uniform(0, 0.5)], weights=[3, 1]),
            '{"reservoirs":[{"high":1.0,"low":0.0,"type":"Uniform"},{"high":0.5,"low":0.0,"type":"Uniform"}],'
            '"type":"Mixture","weights":[0.75,0.25]}',
            12248337728549400505,
        ),
        (
            ma.World(ma.Uniform(), top=1),
            '{"drift":{"type":"Still"},"noise":{"type":"Bernoulli"},'
            '"reservoir":{"high":1.0,"low":0.0,"type":"Uniform"},"top":1.0,"type":"World"}',
            2382102130359841185,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_json_and_digest(spec, text, digest):
    assert json.dumps(spec.to_json(), sort_keys=True, separators=(",", ":")) == text
    assert spec.digest() == digest
    assert ma.spec_from_json(json.loads(text)) == spec


def test_a_part_that_names_no_state_type_has_one_with_its_own_fields():
    state = ma.JumpAt(play=3, size=-0.5).start()
    assert (type(state).__name__, state._asdict()) == ("JumpAtState", {"play": 3, "size": -0.5})
    assert type(state) is ma.JumpAt.state_type
    with pytest.raises(TypeError, match="size"):
        ma.JumpAt.state_type(play=3)
    # A state has values; and one that was written is found again.
    for written in (ma.Still().start(), state):
        assert len(written) > 0
        assert type(pickle.loads(pickle.dumps(written))) is type(written)
