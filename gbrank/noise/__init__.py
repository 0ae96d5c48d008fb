"""Noise: which loss survives it, and how much of it is in one's own labels.

The benchmark: ``presets`` says what is run, ``kinds`` which noise there is, ``sources`` splits
data, ``corruption`` corrupts them, ``trial`` trains and measures once, ``store`` keeps what is
finished, ``runner`` goes through it all on several processes, ``tables``, ``figures`` and
``report`` say what came out, ``benchmark`` is the door to it.

The diagnosis of labels: ``estimation`` has the confusion matrix, ``judges`` that of several judges,
``second_look`` the labels to look at again, ``sensitivity`` what noise costs each loss.
"""

from gbrank.noise.benchmark import NoiseResults, report, run
from gbrank.noise.diagnosis import Diagnosis, diagnose
from gbrank.noise.estimation import NoiseEstimate
from gbrank.noise.judges import JudgedLabels, aggregate_judges
from gbrank.noise.presets import describe_presets as describe_presets
from gbrank.noise.presets import list_presets
from gbrank.noise.provenance import provenance as provenance
from gbrank.noise.sensitivity import Recommendation, Sensitivity

__all__ = [
    "Diagnosis",
    "JudgedLabels",
    "NoiseEstimate",
    "NoiseResults",
    "Recommendation",
    "Sensitivity",
    "aggregate_judges",
    "diagnose",
    "list_presets",
    "report",
    "run",
]
