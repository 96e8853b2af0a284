"""Execution contracts: an action bound to one execution, and the machine that records its life (S3)."""
