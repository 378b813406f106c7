"""Statistics of results, and figures of them."""
