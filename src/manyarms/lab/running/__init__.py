"""Running studies: threads, clusters, a GPU, and the files that results are kept in."""
