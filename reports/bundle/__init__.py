"""The evidence bundle: what a run found out, as one file with a manifest, a Merkle root and a signed statement (E-REPORT)."""
