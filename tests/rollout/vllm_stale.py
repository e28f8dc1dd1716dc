"""The worker extension as it would be if nobody packed the tied head anew."""

from healthgym.rollout import vllm_worker

vllm_worker.repack = lambda model: None
WeightsExtension = vllm_worker.WeightsExtension
