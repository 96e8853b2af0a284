"""OpenTelemetry spans of a worker process (extra `otel`): one for each turn, and within it one for each boundary."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode
from opentelemetry.trace import TracerProvider as Provider

from .commands import Command, Outcome
from .telemetry import answer_of, fields
from .turn import End

PREFIX = "crashwindow"


class Spans:
    """Makes a span of each turn and each boundary; the fields of the log lines are its attributes, as `crashwindow.job`."""

    def __init__(self, provider: Provider) -> None:
        self._tracer = provider.get_tracer(PREFIX)

    def turn(self, job_id: str, owner: str, call: Callable[[], End]) -> End:
        """One turn; one that let go of its job is an error."""
        attributes = {f"{PREFIX}.job": job_id, f"{PREFIX}.owner": owner}
        with self._tracer.start_as_current_span("turn", attributes=attributes) as span:
            end = call()
            span.set_attribute(f"{PREFIX}.end", end.status)
            return end

    def boundary(self, command: Command, call: Callable[[], Any]) -> Any:
        """One performance; whatever kept it from a reply is its status."""
        attributes = {f"{PREFIX}.{name}": value for name, value in fields(command).items()}
        with self._tracer.start_as_current_span(
            command.boundary, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                reply = call()
            except Exception as error:
                span.set_status(Status(StatusCode.ERROR, answer_of(error)))
                raise
            if isinstance(reply, Outcome):
                span.set_attribute(f"{PREFIX}.answer", reply.kind)
            return reply


@contextmanager
def exported() -> Iterator[Provider]:
    """A provider whose spans go out over OTLP/HTTP, to where the standard OTEL_EXPORTER_OTLP_* variables say."""
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: PREFIX}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider
    finally:
        provider.shutdown()
