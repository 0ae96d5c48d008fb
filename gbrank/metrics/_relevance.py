"""What metrics share that know only relevant documents and others."""

from typing import ClassVar

import numpy as np

from gbrank.core import FloatArray, check_number
from gbrank.metrics._base import Metric
from gbrank.metrics._judgments import Judgments
from gbrank.metrics.conventions import ZERO


class RelevanceMetric(Metric):
    """A metric of documents that are relevant, with a label above ``threshold``, or are not."""

    own_options: ClassVar = {"threshold": ZERO}

    def check_options(self) -> None:
        check_number("threshold", self.options["threshold"])

    def relevance(self, judgments: Judgments) -> FloatArray:
        """Return 1 for the codes of relevant labels and 0 for others."""
        threshold = self.options["threshold"]
        return judgments.tabulate(lambda labels, _: (labels > threshold).astype(np.float64))
