"""The slow, obvious twins: every algorithm once more, in plain Python, straight from its source.

A policy is a generator: it yields the arm it plays and the probability of that choice, and is
sent the reward. What it counts goes into a ``Counts``. Bases are small classes that look at
all their arms in every round. Nothing here is fast, and nothing here is shared with the
package but the meaning of the words and the logarithms and powers of ``manyarms.arithmetic``,
whose last bits no library shares (tests/test_arithmetic.py has its own oracle for them).
"""
