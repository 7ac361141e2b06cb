"""The engine's version and how requested versions are matched against it."""

from __future__ import annotations

import re

from execution_engine.errors import NotSupportedExecutionEngineError, WorkflowDefinitionError

ENGINE_VERSION = "1.17.0"
_PLAIN = re.compile(r"\d+(\.\d+)*")
_LONGEST_VERSION = 100
_CONTEXT = "workflow_compilation | engine_initialisation"


def check_requested_version(requested: str) -> None:
    """Refuses a definition that this engine does not serve; `requested` is the least version of one
    major version.

    Raises:
        WorkflowDefinitionError: the text is no version.
        NotSupportedExecutionEngineError: this engine is older, or of another major version.
    """
    wanted = _release(requested)
    ours = _release(ENGINE_VERSION)
    assert ours is not None
    if wanted is None:
        raise WorkflowDefinitionError(
            f"The definition asks for engine version '{requested}', which is no version number; "
            f'expected something like "1.0" or "{ENGINE_VERSION}".',
            context=_CONTEXT,
        )
    if wanted[0] != ours[0] or _padded(wanted) > _padded(ours):
        raise NotSupportedExecutionEngineError(
            f"The definition asks for engine version {requested} or newer within {wanted[0]}.x; "
            f"this engine is {ENGINE_VERSION}.",
            context=_CONTEXT,
        )


def version_in_range(version: str, specifier: str) -> bool:
    """Whether a version lies in a range such as `>=1.3.0,<2.0.0` (PEP 440)."""
    release = _release(version)
    simple = re.fullmatch(r">=(\d+(?:\.\d+)*),<(\d+(?:\.\d+)*)", specifier.replace(" ", ""))
    if release is not None and simple is not None:
        low, high = _release(simple[1]), _release(simple[2])
        assert low is not None
        assert high is not None
        return _padded(low) <= _padded(release) < _padded(high)
    from packaging.specifiers import SpecifierSet

    return version in SpecifierSet(specifier)


def _release(text: str) -> tuple[int, ...] | None:
    if len(text) > _LONGEST_VERSION:  # Python refuses to read whole numbers of thousands of digits
        return None
    if _PLAIN.fullmatch(text):
        return tuple(int(part) for part in text.split("."))
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text).release
    except InvalidVersion:
        return None


def _padded(release: tuple[int, ...]) -> tuple[int, ...]:
    return (*release, 0, 0, 0)[:3]
