"""Domain drug_interaction: review a regimen, find and grade what is dangerous, change it safely."""
