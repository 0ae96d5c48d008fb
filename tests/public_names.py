"""Which names are public: what documents must have, and what a release may not take away."""

import importlib
import importlib.util

import gbrank

# What users are told of in these two stands in ``gbrank`` itself.
INSIDE = {"cli", "ranker"}
MODULES = ["gbrank", *(f"gbrank.{name}" for name in gbrank._MODULES if name not in INSIDE)]


def public_names():
    """Return what users may name, ``{"gbrank.metrics.ndcg_score": function, ...}``."""
    found = {}
    for module_name in MODULES:
        if module_name == "gbrank.dask" and importlib.util.find_spec("distributed") is None:
            continue
        module = importlib.import_module(module_name)
        found |= {f"{module_name}.{name}": getattr(module, name) for name in module.__all__}
    del found["gbrank.__version__"]
    return found
