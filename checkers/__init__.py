"""The checkers: plain functions from model, runtime and bounds to evidence."""
