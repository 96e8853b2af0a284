"""The tools that ship with crashwindow, each with its contract declared; `crashwindow tools` prints them."""

from ..registry import Registry
from . import email_send, file_append, http_post, sqlite_insert

registry = Registry([email_send.TOOL, file_append.TOOL, http_post.TOOL, sqlite_insert.TOOL])
