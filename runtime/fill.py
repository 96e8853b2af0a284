"""Values of a plan that ask for results of earlier nodes: `{"$result": NODE}`."""

from collections.abc import Iterable, Mapping

from .records import Json


def filled(value: Json, results: Mapping[str, Json]) -> Json:
    """A value in which each `{"$result": NODE}` is the result of that node; raises KeyError for a node without one."""
    match value:
        case {"$result": str(name), **rest} if not rest:
            return results[name]
        case dict():
            return {key: filled(item, results) for key, item in value.items()}
        case list():
            return [filled(item, results) for item in value]
        case _:
            return value


def references(value: Json) -> Iterable[str]:
    """The nodes whose results a value asks for."""
    match value:
        case {"$result": str(name), **rest} if not rest:
            yield name
        case dict():
            for item in value.values():
                yield from references(item)
        case list():
            for item in value:
                yield from references(item)
        case _:
            pass


def asked_for(entry: dict[str, Json]) -> Iterable[str]:
    """The nodes whose results a node of a plan asks for."""
    return references([entry.get("args"), entry.get("prompt")])
