"""The command line as data: what can be asked, and where it is answered."""
