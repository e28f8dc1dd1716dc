"""The sections of a run's settings; `healthgym.training.config` puts them together."""
