"""Which names are public: what documents must have, and what a release may not take away."""

import importlib
import importlib.util

MODULES = [
    "gbrank",
    "gbrank.clicks",
    "gbrank.dask",
    "gbrank.data",
    "gbrank.linear",
    "gbrank.metrics",
    "gbrank.noise",
    "gbrank.objectives",
    "gbrank.plotting",
    "gbrank.preferences",
    "gbrank.serving",
    "gbrank.simulate",
    "gbrank.theory",
    "gbrank.tuning",
]
# Public names of modules that have no __all__.
SINGLE = {
    "gbrank.gains": [
        "PowerDiscount",
        "compute_discounts",
        "compute_gains",
        "corrected_gain",
        "correction_variance",
    ],
    "gbrank.preprocessing": ["QueryScaler"],
    "gbrank.testing": ["check_objective"],
}


def public_names():
    """Return what users may name, ``{"gbrank.metrics.ndcg_score": function, ...}``."""
    found = {}
    for module_name in MODULES:
        if module_name == "gbrank.dask" and importlib.util.find_spec("distributed") is None:
            continue
        module = importlib.import_module(module_name)
        found |= {f"{module_name}.{name}": getattr(module, name) for name in module.__all__}
    for module_name, names in SINGLE.items():
        module = importlib.import_module(module_name)
        found |= {f"{module_name}.{name}": getattr(module, name) for name in names}
    del found["gbrank.__version__"]
    return found
