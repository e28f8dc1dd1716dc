"""Settings of every test run."""

import os

from hypothesis import HealthCheck, settings

# One thread a process: matrices this small gain nothing from a second, and two test runs side by side would crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A loaded machine draws examples slowly; that says nothing about what is tested.
settings.register_profile("healthgym", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("healthgym")
