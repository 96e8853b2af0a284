"""The adapters that ship: each speaks to one runtime as its documentation says."""
