"""The providers that ship with crashwindow (E-LLM): a script, and a client of any server that speaks OpenAI's HTTP API."""

from .openai import OpenAIProvider
from .scripted import ScriptedProvider

__all__ = ["OpenAIProvider", "ScriptedProvider"]
