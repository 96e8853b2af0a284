"""The address of a store, as it may be shown."""

import re


def without_password(url: str) -> str:
    """The address without the password, wherever it stands: after the user, or among the parameters."""
    bare = re.sub(r"://([^:@/?]*):.*@", r"://\1@", url)
    return re.sub(r"([?&]\w*password)=[^&]*&?", r"\1=…&", bare).removesuffix("&")
