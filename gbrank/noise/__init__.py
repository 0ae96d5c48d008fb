"""The noise benchmark: losses under noisy labels, padded lists and clicks.

``presets`` says what is run, ``sources`` splits a data set, ``corruption`` corrupts it, ``trial``
trains and measures once, ``store`` keeps what is finished, ``runner`` goes through it all on
several processes, ``tables``, ``figures`` and ``report`` say what came out.
"""

from gbrank.noise.provenance import provenance as provenance
