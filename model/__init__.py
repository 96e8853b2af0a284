"""What is true: the durable tool step as rows of data. Standard library only."""
