"""For all tests of live bandits."""

from tests.live_ids import same_tags as same_tags
