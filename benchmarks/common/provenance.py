"""Where a number comes from: versions, machine and command."""

from gbrank.noise import provenance as provenance
