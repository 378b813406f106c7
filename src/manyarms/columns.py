"""What people call the columns of their tables."""

from collections.abc import Iterable

SYNONYMS: dict[str, tuple[str, ...]] = {
    "item": (
        "item",
        "key",
        "item_id",
        "id",
        "arm",
        "name",
        "headline",
        "article",
        "creative",
        "ad",
        "product",
        "sku",
        "title",
    ),
    "plays": ("plays", "impressions", "views", "shown", "trials", "sends", "exposures"),
    "reward": ("reward", "rewards", "clicks", "successes", "conversions", "purchases", "wins"),
    "time": ("time", "timestamp", "date", "day", "hour", "week"),
    "delay": ("delay", "latency", "waited"),
}
"""What columns may be called if no name is given; capitals do not matter."""


def columns_called(role: str, names: Iterable[str]) -> list[str]:
    """Those of some columns that may be meant.

    Examples
    --------
    >>> columns_called("plays", ["Headline", "Impressions", "clicks"])
    ['Impressions']
    """
    return [name for name in names if name.lower() in SYNONYMS[role]]
