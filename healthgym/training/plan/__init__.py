"""What a run will be, told before anything heavy is loaded: parameters, memory, episodes, and which mechanisms live."""

from healthgym.training.plan.plan import Plan, make_plan

__all__ = ["Plan", "make_plan"]
