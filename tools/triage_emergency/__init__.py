"""Emergency triage: sort arrivals, start time-critical care, choose where each patient goes."""
