"""The presets of the papers and of the results pages: ``gbrank noise``, from a clone.

    python benchmarks/noise.py list
    python benchmarks/noise.py run demo --out demo
    python benchmarks/noise.py run results --data MQ2008 --jobs 2 --out noise_results
    python benchmarks/noise.py run bruch2021-table1 --data /data/MSLR-WEB30K --trials 20 --out DIR
    python benchmarks/noise.py report noise_results

Finished trials are kept in DIR/work at once: the same command goes on where it stopped, and several
data sets, or processes, may share one DIR. The report also writes them to one compressed file a
preset, from which another clone goes on. --data is the name of a set in the folder GBRANK_DATA,
a folder in LETOR's structure, files of one's own, or "synthetic".
"""

import sys

from gbrank.cli import main

if __name__ == "__main__":
    sys.exit(main(["noise", *sys.argv[1:]]))
