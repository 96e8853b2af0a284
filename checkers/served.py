"""What a run asks of a PostgreSQL server of its own; or that nobody asked it."""

from collections.abc import Callable

from .embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from .evidence import Item


def served(ask: Callable[[str], Item], nobody: Item) -> Item:
    """What is found on a server, by its address; where none can be had `nobody`, with the reason and the remedy."""
    try:
        server = EmbeddedPostgres()
    except EmbeddedPostgresError as error:
        return nobody.model_copy(update={"statement": f"{nobody.statement}: {error}"})
    with server:
        return ask(server.url)
