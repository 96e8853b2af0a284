"""`ScriptedProvider`: a model that says what it was told to say. It asks nobody; for tests, rehearsals and examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..canonical import digest
from ..llm import LlmAnswer, LlmError, LlmRequest
from ..records import Json

Script = Sequence[Json | LlmError] | Mapping[str, Json | LlmError]


class ScriptOverError(LlmError):
    """The script has no answer to this question: says which, and how it is added."""


@dataclass
class ScriptedProvider:
    """Answers from a script: a mapping from the prompt's hash (SHA-256 of its canonical JSON), or a sequence, in its order.

    An entry that is an `LlmError` is raised. A sequence belongs to one process: after a crash it begins again, so a script that
    is to survive one is a mapping. asked: every request so far.
    """

    script: Script
    name: str = "scripted"
    asked: list[LlmRequest] = field(default_factory=list)

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """The script's answer; raises ScriptOverError where it has none."""
        self.asked.append(request)
        reply = self._reply(request)
        if isinstance(reply, LlmError):
            raise reply
        return LlmAnswer(reply, request.model)

    def _reply(self, request: LlmRequest) -> Json | LlmError:
        if isinstance(self.script, Mapping):
            prompt = digest(request.prompt)
            if prompt not in self.script:
                raise ScriptOverError(
                    f"the script of {self.name!r} has no answer to the prompt of hash {prompt}; add it"
                )
            return self.script[prompt]
        number = len(self.asked)
        if number > len(self.script):
            raise ScriptOverError(f"the script of {self.name!r} is over: question {number}, {len(self.script)} answers")
        return self.script[number - 1]
