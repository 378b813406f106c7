"""The questions that come with the package: the figure of the paper, rates, lower bounds."""
