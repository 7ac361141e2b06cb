"""Whether the four top-level packages that Python finds are those of this distribution: their names
are not ours alone. Imports nothing but the standard library, and none of the packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

DISTRIBUTION = "weftlens"
PACKAGES = ("workflows", "blocks", "execution_engine", "inference_models")
MENDING = (
    f"Install {DISTRIBUTION} in an environment of its own (python -m venv), or uninstall the other "
    f"distribution and run: pip install --force-reinstall --no-deps {DISTRIBUTION}"
)
_READ_BYTES = 4096


def foreign_packages(
    names: Sequence[str] = PACKAGES, root: Path | None = None, marker: str = DISTRIBUTION
) -> list[str]:
    """One message for each package that is missing or not ours; none when all is well.

    Every package of ours lies beside this one and names the distribution at the top of its
    `__init__.py`; a distribution that brings a folder of the same name replaces that file.

    Args:
        names: packages to look at.
        root: folder they must lie in; the one this package lies in when None.
        marker: the word their `__init__.py` holds.
    """
    home = Path(__file__).resolve().parents[2] if root is None else root
    messages = []
    for name in names:
        found = _problem_of(name, home, marker)
        if found is not None:
            messages.append(f"the package '{name}' {found}. {MENDING}")
    return messages


def sharing_distributions(
    distributions: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, list[str]]:
    """Other installed distributions that bring a folder with the name of one of our packages.

    Args:
        distributions: distributions by package; `importlib.metadata.packages_distributions()` when
            None.

    Returns:
        Names of distributions by package, only for packages that have any.
    """
    if distributions is None:
        from importlib.metadata import packages_distributions

        distributions = packages_distributions()
    shared = {name: sorted(set(distributions.get(name, ())) - {DISTRIBUTION}) for name in PACKAGES}
    return {name: others for name, others in shared.items() if others}


def _problem_of(name: str, home: Path, marker: str) -> str | None:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return "cannot be found"
    if spec.origin is None or not Path(spec.origin).is_file():
        places = ", ".join(spec.submodule_search_locations or ()) or "nowhere"
        return f"is a folder without an __init__.py ({places}), not the one of {marker}"
    origin = Path(spec.origin).resolve()
    if origin.parent.parent != home:
        return f"is taken from {origin.parent}, not from {home / name}"
    with origin.open("rb") as file:
        if marker.encode() not in file.read(_READ_BYTES):
            return f"in {home} was replaced by another distribution{_named(name)}"
    return None


def _named(package: str) -> str:
    others = sharing_distributions().get(package)
    return f" ({', '.join(others)})" if others else ""
