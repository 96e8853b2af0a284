"""Renders evidence for readers. It reads evidence and nothing else, and knows no checker."""
