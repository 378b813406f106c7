"""What people call the columns of their tables."""

from collections.abc import Iterable, Sequence

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
    >>> columns_called("item", ["article_id", "user_id", "clicks"])
    ['article_id']
    """
    return [name for name in names if _plain(name) in SYNONYMS[role] or (role == "item" and _without_id(name))]


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_")


def _without_id(name: str) -> bool:
    """Whether a column holds the ids of what may be an item: article_id, productId."""
    plain = _plain(name)
    return plain.endswith("id") and plain.removesuffix("id").rstrip("_") in SYNONYMS["item"]


RATES = (
    "all rewards are below 1, and none is a whole number, though items were played many times: they look like rates. "
    "Give sums: multiply rates by plays"
)


def look_like_rates(plays: Sequence[float], rewards: Sequence[float]) -> bool:
    """Whether what should be sums of rewards may be averages.

    Examples
    --------
    >>> look_like_rates([100, 200, 150], [0.01, 0.02, 0.0]), look_like_rates([100, 200, 150], [1, 4, 0])
    (True, False)
    """
    paid = [reward for reward in rewards if reward]
    are_averages = bool(paid) and all(0.0 < reward < 1.0 for reward in paid)
    return are_averages and sum(plays) >= 10 * len(plays)
