"""What is tried, as data: each scenario states the verdict it expects."""
