"""The audit of an evidence bundle: what follows from it, found out without any checker (E-TRUST, E-REPORT)."""
