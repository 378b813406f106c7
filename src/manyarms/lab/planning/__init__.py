"""Planning: from counts of the past to what to do next, by simulation on the catalogue that the counts tell of."""
