"""Leaders, against looking at all values each time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from manyarms.policies import leaders


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from([-0.5, 0.0, 0.25, 0.5, 0.75, 1.0])), max_size=60),
)
def test_the_leader_is_the_one_found_by_looking_at_all(first, updates):
    values = np.array(first)
    leader = leaders.searched(values, len(first), 0)
    slot = 0 if first[0] == max(first) else first.index(max(first))
    for changed, value in [(0, first[0]), *updates]:
        values[changed % len(first)] = value
        leader = leaders.led(leader, values, len(first), changed % len(first))
        if values[slot] < values.max():
            slot = values.tolist().index(values.max())
        assert leader.slot == slot
        others = np.delete(values, slot)
        assert others.size == 0 or others.max() <= leader.others
