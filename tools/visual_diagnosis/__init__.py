"""Domain visual_diagnosis: answer from images whose pixels can be seen and measured."""
