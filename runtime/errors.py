"""The error of a command that cannot be carried out as it was given."""


class CommandError(Exception):
    """Bad input at the command line: the message names the thing and the remedy; the exit code is 2."""
