"""Engine of weftlens: compiles workflow definitions and runs them. Knows no block and no model."""

from execution_engine.compiler.compiler import compile_definition, find_problems
from execution_engine.compiler.plan_cache import PlanCache
from execution_engine.engine import ExecutionEngine
from execution_engine.executor.limits import CancellationToken
from execution_engine.executor.report import RunReport, SkippedStep
from execution_engine.plan import Plan
from execution_engine.profiling import ChromeTraceProfiler
from execution_engine.registry.discovery import discover_registry
from execution_engine.registry.plugin import KnownBlock, Plugin
from execution_engine.registry.registry import BlockRegistry
from execution_engine.versions import ENGINE_VERSION

__all__ = [
    "ENGINE_VERSION",
    "BlockRegistry",
    "CancellationToken",
    "ChromeTraceProfiler",
    "ExecutionEngine",
    "KnownBlock",
    "Plan",
    "PlanCache",
    "Plugin",
    "RunReport",
    "SkippedStep",
    "compile_definition",
    "discover_registry",
    "find_problems",
]
