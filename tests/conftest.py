"""Settings of every test run."""

import os

# One thread a process: matrices this small gain nothing from a second, and two test runs side by side would crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
