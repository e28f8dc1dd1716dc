"""Synthetic images drawn from the chart's truth, one module a kind."""
