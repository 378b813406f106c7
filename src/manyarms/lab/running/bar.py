"""A study with a progress bar: on a terminal; elsewhere it runs without a word."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..studies.modules import needed_modules
from ..studies.study import Study
from .cluster import cluster_executor
from .runner import Progress, run


def run_with_bar(study: Study, folder: str | Path = "results", cluster: str | None = None, **how: Any) -> list[Path]:
    """Run a study on this machine or on a cluster, and show how far it has got; ``how`` as for `run`."""
    with contextlib.ExitStack() as stack:
        executor = None
        if cluster:
            executor = stack.enter_context(cluster_executor(cluster, needed_modules(study.cells)))
        progress = stack.enter_context(progress_bar(study.name)) if sys.stderr.isatty() else None
        return run(study, folder, executor=executor, progress=progress, **how)


@contextlib.contextmanager
def progress_bar(name: str) -> Iterator[Callable[[Progress], None]]:
    """A bar with the rounds a second, the cells left and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None, pace="")

        def show(progress: Progress) -> None:
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed or 0.0
            bar.update(
                task,
                total=progress.rounds + progress.rounds_left,
                completed=progress.rounds,
                pace=f"{speed / 1e6:,.0f} million rounds/s, {progress.cells_left} cells left",
            )

        yield show
