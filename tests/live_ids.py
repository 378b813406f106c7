"""For tests of live bandits: ids that do not differ from run to run, and decisions by their numbers."""

import pytest

from manyarms.bandit import ids

TAG = "0123456789ab"


def id_of(number):
    """The id of a decision, where all tags are the same."""
    return f"{TAG}-{number}"


def ids_of(numbers):
    return [id_of(number) for number in numbers]


@pytest.fixture(scope="module")
def same_tags():
    """Tags are not random: then bandits with one seed are the same in all they say and write."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ids, "new_tag", lambda: TAG)
        yield
