"""crashwindow proves, and shows on running code, that a durable tool step changes the world at most once."""
