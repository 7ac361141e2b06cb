"""`weftlens doctor`: what is wrong with an installation and how to mend it. Imports other packages
only inside its checks, so that it still speaks when they do not load.
"""

from __future__ import annotations

import importlib
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.ownership import (
    DISTRIBUTION,
    MENDING,
    foreign_packages,
    sharing_distributions,
)

_CONSTRAINTS = "constraints.txt"
_IN_A_CLONE = f"pip install -c {_CONSTRAINTS}"
State = Literal["ok", "note", "problem"]
_IMPORTS = ("numpy", "cv2", "pydantic", "orjson", "supervision", "onnxruntime", "httpx")
# Two of these in one environment write into the same folder; the last one installed wins.
_OPENCV = (
    "opencv-python",
    "opencv-python-headless",
    "opencv-contrib-python",
    "opencv-contrib-python-headless",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: whether it is well, what was found, and how to mend it."""

    state: State
    subject: str
    text: str
    mending: str = ""


def doctor_command(as_json: bool) -> int:
    """Prints the findings; 1 when one of them is a problem."""
    findings = examine()
    problems = sum(finding.state == "problem" for finding in findings)
    if as_json:
        import json

        sys.stdout.write(
            json.dumps(
                [
                    {
                        "state": finding.state,
                        "subject": finding.subject,
                        "text": finding.text,
                        "mending": finding.mending or None,
                    }
                    for finding in findings
                ],
                indent=2,
            )
            + "\n"
        )
    else:
        marks = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
        for finding in findings:
            sys.stdout.write(f"{marks[finding.state]}  {finding.subject}: {finding.text}\n")
            if finding.mending:
                sys.stdout.write(f"         mend it: {finding.mending}\n")
        sys.stdout.write(
            "\nall is well\n"
            if not problems
            else f"\n{problems} problem{'s' if problems > 1 else ''} found\n"
        )
    return PROBLEM if problems else OK


def examine() -> list[Finding]:
    """Every check, in an order in which the first problem is likely the cause of later ones."""
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        versions,
        packages,
        requirements,
        libraries,
        opencv,
        extras,
        block_library,
        settings,
    )
    return [finding for check in checks for finding in check()]


def versions() -> Iterator[Finding]:
    """Python, system and our own version."""
    yield Finding(
        "ok", "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    try:
        yield Finding("ok", DISTRIBUTION, metadata.version(DISTRIBUTION))
    except metadata.PackageNotFoundError:
        yield Finding(
            "problem",
            DISTRIBUTION,
            "runs from a folder without being installed, so versions and plug-ins are unknown",
            f"{_IN_A_CLONE} -e . (in a clone of the project)",
        )


def packages() -> Iterator[Finding]:
    """Whether our four packages are ours, and who else brings folders of these names."""
    foreign = foreign_packages()
    for message in foreign:
        text, _, _ = message.partition(f" {MENDING}")
        yield Finding("problem", "packages", text, MENDING)
    shared = sharing_distributions()
    for name, others in shared.items():
        yield Finding(
            "problem",
            "packages",
            f"the folder '{name}' is also brought by {', '.join(others)}; the two overwrite each "
            "other",
            MENDING,
        )
    if not foreign and not shared:
        yield Finding("ok", "packages", "all four are ours and nobody else's")


def requirements() -> Iterator[Finding]:
    """Whether the distributions we need are there in versions that fit."""
    needed = [item for item in _requirements() if item.extra is None]
    wrong = [item for item in needed if item.fault]
    for item in wrong:
        yield Finding("problem", "requirement", item.fault, f"{_pip_install()} '{item.text}'")
    if needed and not wrong:
        yield Finding("ok", "requirements", f"{len(needed)} distributions, all in fitting versions")


def libraries() -> Iterator[Finding]:
    """Whether the libraries load; their own faults (missing system libraries) show here."""
    broken = False
    for name in _IMPORTS:
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever a broken library raises at import is the finding
            broken = True
            mending = f"reinstall it: {_pip_install()} --force-reinstall {name}"
            if name == "cv2":
                mending = (
                    "install the system library it names (on Debian: apt-get install libgl1 "
                    "libglib2.0-0), or use opencv-python-headless instead"
                )
            yield Finding("problem", name, f"does not load: {error}", mending)
    if not broken:
        yield Finding("ok", "libraries", f"{', '.join(_IMPORTS)} load")


def opencv() -> Iterator[Finding]:
    """Whether more than one distribution of OpenCV writes into `cv2`."""
    found = [name for name in _OPENCV if _version(name) is not None]
    if len(found) > 1:
        yield Finding(
            "problem",
            "cv2",
            f"several distributions share the folder 'cv2': {', '.join(found)}",
            f"pip uninstall {' '.join(found)}, then {_pip_install()} opencv-python",
        )


def extras() -> Iterator[Finding]:
    """Which extras are installed."""
    by_extra: dict[str, list[_Requirement]] = {}
    found = _requirements()
    for item in found:
        if item.extra is not None:
            by_extra.setdefault(item.extra, []).append(item)
    users = Counter(item.name for item in found)
    for name, direct in sorted(by_extra.items()):
        items = _with_built_on(direct, by_extra)
        missing = [item for item in items if item.fault]
        # What the base or other extras bring too says nothing about this one.
        own = [item for item in direct if item.name != DISTRIBUTION and users[item.name] == 1]
        if not missing:
            yield Finding("ok", f"extra {name}", "installed")
        elif all(item.fault for item in own or items):
            yield Finding(
                "note",
                f"extra {name}",
                "not installed; to add it, in a clone of the project: "
                f"{_IN_A_CLONE} -e '.[{name}]'",
            )
        else:
            faults = "; ".join(item.fault for item in missing)
            yield Finding("note", f"extra {name}", f"installed in part: {faults}")


def block_library() -> Iterator[Finding]:
    """Whether the blocks of this package and of every plug-in can be found."""
    try:
        from execution_engine.registry.discovery import discover_registry

        registry = discover_registry()
    except Exception as error:  # a broken library or plug-in may raise anything
        yield Finding(
            "problem",
            "blocks",
            f"{error}",
            _plugin_mending(error),
        )
        return
    sources = ", ".join(plugin.source for plugin in registry.plugins) or "none"
    if not registry.specs:
        yield Finding(
            "problem",
            "blocks",
            f"no blocks are found (plug-ins: {sources})",
            f"{_IN_A_CLONE} -e . (in a clone of the project)",
        )
        return
    yield Finding("ok", "blocks", f"{len(registry.specs)} blocks from {sources}")


def _plugin_mending(error: Exception) -> str:
    """What helps against an error of discovery."""
    # By name: the classes cannot be imported when the engine itself is broken.
    if type(error).__name__ == "PluginLoadingError":
        cause = getattr(error, "inner_error", None)
        if cause is None:
            return (
                "remove one of the two origins: uninstall its package, or take it out of "
                "WORKFLOWS_PLUGINS"
            )
        if isinstance(cause, ModuleNotFoundError):
            missing = (cause.name or "").partition(".")[0]
            if f"WORKFLOWS_PLUGINS names the module '{missing}" in str(error):
                return (
                    "correct the name in WORKFLOWS_PLUGINS, or add the folder that the module lies "
                    "in to PYTHONPATH"
                )
            return f"install '{missing}', which the plug-in needs, or leave the plug-in out"
    if type(error).__name__ in (
        "PluginLoadingError",
        "PluginInterfaceError",
        "BlockInterfaceError",
    ):
        return (
            "correct the plug-in that the text names, or leave it out: uninstall it, or take it "
            "out of WORKFLOWS_PLUGINS"
        )
    return "uninstall or update the plug-in that the text names"


def settings() -> Iterator[Finding]:
    """Whether the environment holds settings that can be used."""
    try:
        from execution_engine.errors import WorkflowEnvironmentConfigurationError
        from workflows.settings import read_settings, unknown_variables
    except ImportError:
        return  # reported by `libraries`
    try:
        read_settings()
    except WorkflowEnvironmentConfigurationError as error:
        yield Finding(
            "problem", "settings", error.public_message, "correct or unset these variables"
        )
    else:
        yield Finding("ok", "settings", "the environment can be used")
    for name in unknown_variables():
        yield Finding("note", "settings", f"the variable {name} is no setting and does nothing")


def clone() -> Path | None:
    """The folder of the project that this runs from; None when it was installed from a package."""
    folder = Path(__file__).resolve().parents[2]
    files = (folder / name for name in ("pyproject.toml", _CONSTRAINTS))
    return folder if all(path.is_file() for path in files) else None


def _pip_install() -> str:
    """The beginning of a command that installs; in a clone the versions are those it names."""
    folder = clone()
    if folder is None:
        return "pip install"
    return _IN_A_CLONE if Path.cwd() == folder else f"pip install -c {folder / _CONSTRAINTS}"


def _with_built_on(
    items: Sequence[_Requirement], by_extra: Mapping[str, Sequence[_Requirement]]
) -> list[_Requirement]:
    """The parts of an extra, with those of the extras of ours that it builds on."""
    found: dict[str, _Requirement] = {}
    for item in items:
        if item.name == DISTRIBUTION:
            for name in item.built_on:
                found.update((one.name, one) for one in by_extra.get(name, ()))
        else:
            found[item.name] = item
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Requirement:
    name: str
    built_on: frozenset[str]
    text: str
    extra: str | None
    fault: str


def _requirements() -> list[_Requirement]:
    """What our distribution asks for, with what is wrong about each."""
    try:
        from packaging.requirements import Requirement

        lines = metadata.requires(DISTRIBUTION) or []
        names = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    except (ImportError, metadata.PackageNotFoundError):
        return []
    found = []
    for line in lines:
        requirement = Requirement(line)
        extras = frozenset(requirement.extras)
        plain = f"{requirement.name}{requirement.specifier}"
        fault = _fault(requirement.name, str(requirement.specifier))
        marker = requirement.marker
        if marker is None or marker.evaluate({"extra": ""}):
            found.append(_Requirement(requirement.name, extras, plain, None, fault))
            continue
        for name in names:
            if marker.evaluate({"extra": name}):
                found.append(_Requirement(requirement.name, extras, plain, name, fault))
    return found


def _fault(name: str, specifier: str) -> str:
    from packaging.specifiers import SpecifierSet

    installed = _version(name)
    if installed is None:
        return f"{name} is not installed"
    if not SpecifierSet(specifier).contains(installed, prereleases=True):
        return f"{name} {installed} is installed, {specifier} is needed"
    return ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
