"""The real thing: the protocol of a tool step, the stores it writes to and the workers that drive it."""
