"""The skeletons of docs/skeletons, as modules: each is loaded once, since a spec's name can be taken only once."""

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent.parent / "docs" / "skeletons"


@functools.cache
def skeleton(file: str) -> ModuleType:
    """One of them, by the name of its file."""
    described = importlib.util.spec_from_file_location(f"skeleton_{file.removesuffix('.py')}", FOLDER / file)
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    sys.modules[described.name] = module
    described.loader.exec_module(module)
    return module
