"""Crash campaigns against runtimes that others wrote: an adapter, boundaries that are found, a verdict for each."""
