"""`ServerMetrics`: counters and histograms of one server, in a Prometheus registry of its own.

Labels take their values from bounded sets only: route templates, block types, model packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workflows.server.admission import Admission
    from workflows.session import Session

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_REQUEST_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_STEP_SECONDS = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)


class ServerMetrics:
    """What is counted.

    Args:
        admission: queue and workers, read when metrics are asked for.
        session: plans and models, read when metrics are asked for.
    """

    def __init__(self, admission: Admission, session: Session) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.requests = Counter(
            "weftlens_requests",
            "Requests by route and status.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "weftlens_request_seconds",
            "Time from the arrival of a request to the end of its answer.",
            ("route",),
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        self.queue_seconds = Histogram(
            "weftlens_queue_seconds",
            "Time requests waited for a worker.",
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        self.runs = Counter(
            "weftlens_workflow_runs",
            "Runs of workflows by how they ended.",
            ("outcome",),
            registry=self.registry,
        )
        self.step_seconds = Histogram(
            "weftlens_step_seconds",
            "Time a run spent in one step, by block type.",
            ("block",),
            buckets=_STEP_SECONDS,
            registry=self.registry,
        )
        self.step_failures = Counter(
            "weftlens_step_failures",
            "Steps that raised, by block type.",
            ("block",),
            registry=self.registry,
        )
        self.model_seconds = Histogram(
            "weftlens_model_seconds",
            "Time of one call of a model, waiting for a batch included.",
            ("model",),
            buckets=_STEP_SECONDS,
            registry=self.registry,
        )
        self.model_images = Histogram(
            "weftlens_model_call_images",
            "Images in one call of a model.",
            ("model",),
            buckets=_BATCH_SIZES,
            registry=self.registry,
        )
        self.model_failures = Counter(
            "weftlens_model_failures",
            "Calls of a model that raised.",
            ("model",),
            registry=self.registry,
        )
        self.registry.register(_LiveState(admission, session))

    def note_model_call(self, model: str, seconds: float, images: int | None) -> None:
        """Counts one call of a model; `images` is None when it failed."""
        self.model_seconds.labels(model).observe(seconds)
        if images is None:
            self.model_failures.labels(model).inc()
        else:
            self.model_images.labels(model).observe(images)

    def text(self) -> bytes:
        """Everything in the text format of Prometheus."""
        return generate_latest(self.registry)


class _LiveState(Collector):
    """What is looked at only when somebody asks."""

    def __init__(self, admission: Admission, session: Session) -> None:
        self._admission = admission
        self._session = session

    def collect(self) -> Iterator[Metric]:
        """The gauges of this moment."""
        values = {
            "weftlens_queue_requests": ("Requests waiting.", self._admission.queued),
            "weftlens_workers": ("Worker threads.", self._admission.workers),
            "weftlens_workers_busy": ("Workers with a request.", self._admission.running),
            "weftlens_workers_abandoned": (
                "Workers inside a run that was given up.",
                self._admission.abandoned,
            ),
            "weftlens_plan_cache_hits": ("Runs with a known plan.", self._session.plans.hits),
            "weftlens_plan_cache_misses": ("Workflows compiled.", self._session.plans.misses),
        }
        for name, (text, value) in values.items():
            yield GaugeMetricFamily(name, text, value=value)
        yield from self._models()

    def _models(self) -> Iterator[Metric]:
        memory = GaugeMetricFamily(
            "weftlens_model_bytes", "Memory of the weights in use.", labels=("model",)
        )
        waiting = GaugeMetricFamily(
            "weftlens_model_waiting", "Calls that wait for a batch.", labels=("model",)
        )
        forwards = CounterMetricFamily(
            "weftlens_model_forwards",
            "Runs of the network of a model with dynamic batching, by images in them.",
            labels=("model", "images"),
        )
        for status in self._session.list_models():
            model = status.model_ids[0]
            memory.add_metric((model,), status.nbytes)
            if status.statistics is not None:
                waiting.add_metric((model,), status.statistics.waiting)
                for images, count in sorted(status.statistics.batch_sizes.items()):
                    forwards.add_metric((model, str(images)), count)
        yield from (memory, waiting, forwards)
