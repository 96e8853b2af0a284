"""What the program does, beside its rivals, on the same work in the same run."""
