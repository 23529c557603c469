"""Device code, private to the package: one module for each kernel family."""

import importlib.util
import pkgutil
import sys


def _load_when_used(name: str) -> None:
    """Put a module in place that is executed when something of it is first read: few scenes launch all kernels."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    setattr(sys.modules[__name__], name.rpartition(".")[2], module)
    spec.loader.exec_module(module)


for _found in pkgutil.iter_modules(__path__, __name__ + "."):
    if not _found.ispkg:
        _load_when_used(_found.name)
