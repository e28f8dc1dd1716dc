"""Training: GRPO and turn-level truncated on-policy distillation on TRL, in plain functions and one thin trainer.

Importing this package needs no torch; the modules that train import it themselves.
"""

from healthgym.training.config import RunConfig
from healthgym.training.hints import HintFacts, hint_text
from healthgym.training.loading import dump_config, load_config, make_config
from healthgym.training.presets import PRESETS

__all__ = ["PRESETS", "HintFacts", "RunConfig", "dump_config", "hint_text", "load_config", "make_config"]
