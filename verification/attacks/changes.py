"""What is done to bytes and to JSON values."""

import contextlib
import copy
import json
import random
from collections.abc import Iterator
from typing import Any


def flipped(data: bytes, dice: random.Random) -> bytes:
    """One bit is another."""
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :]


def other_byte(data: bytes, dice: random.Random) -> bytes:
    """One byte is another."""
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ dice.randrange(1, 256)]) + data[place + 1 :]


def cut(data: bytes, dice: random.Random) -> bytes:
    """The end is missing."""
    return data[: dice.randrange(len(data))]


WEIRD = (
    *("1e400", "-1e400", "NaN", "1e308", "2147483647", "-1", "0.5", "1" * 5_000, str(2**70)),
    *("null", "true", '"text"', '""', '"../../elsewhere"', r'"\ud800"', "[]", "{}", "[" * 100_000 + "]" * 100_000),
    *("[" * 300 + "]" * 300, '{"type": "World"}'),
)
"""JSON texts that stand where others belong."""


def paths_in(values: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all parts of JSON values."""
    if so_far:
        yield so_far
    parts = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, part in parts:
        yield from paths_in(part, (*so_far, key))


def mutated(values: Any, dice: random.Random, *, untouched: tuple[str, ...] = ()) -> tuple[str, str]:
    """What was done, and the JSON text of values with one part lost or replaced by something weird."""
    while True:
        way = dice.choice([way for way in paths_in(values) if way[0] not in untouched])
        changed = copy.deepcopy(values)
        part = changed
        for key in way[:-1]:
            part = part[key]
        weird = dice.choice([*WEIRD, ""])
        if weird:
            part[way[-1]] = "@@"
        else:
            del part[way[-1]]
        text = json.dumps(changed, sort_keys=True).replace('"@@"', weird)
        with contextlib.suppress(ValueError, RecursionError):
            if json.loads(text) == values:
                continue
        return f"{'.'.join(map(str, way))} = {weird[:20] or 'nothing'}", text
