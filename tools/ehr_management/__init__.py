"""Domain ehr_management: answer and act from a longitudinal hospital record."""
