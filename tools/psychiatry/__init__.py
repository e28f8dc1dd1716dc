"""Psychiatry: interview, screen, judge risk and capacity, choose and watch medicines, decide where care goes on."""
