"""Domain medical_qa: answer a medical question from evidence that was looked up, not from memory."""
