"""Text from elsewhere, made safe to look at."""


def plain(text: str) -> str:
    """Text without control characters, those of writing direction included: what a plan, a tool or a model hands in must not
    steer the terminal, nor look like something else to the person who approves it.
    """
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)
