"""Reports: pages that work offline."""
