"""The durable runtime: a protocol core without I/O, stores, tools, a worker."""
