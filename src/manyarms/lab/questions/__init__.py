"""The questions that come with the package: published experiments, rates, lower bounds, remarks of the paper."""
