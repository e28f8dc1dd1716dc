"""Scaffolds for new domains, tools and task families that pass `healthgym validate` as they are."""

from healthgym.authoring.scaffold import new_domain, new_task, new_tool

__all__ = ["new_domain", "new_task", "new_tool"]
