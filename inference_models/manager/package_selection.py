"""From the place of a model to the one package of it that runs here. The rules are in
`negotiation`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from inference_models.backends.backend import BackendOpener
from inference_models.errors import CorruptedModelPackageError, ModelImplementationNotFoundError
from inference_models.families.catalogue import family_of
from inference_models.families.descriptor import Family
from inference_models.manager.negotiation import PackagePreferences, choose_package
from inference_models.manager.runtime_environment import (
    RuntimeEnvironment,
    describe_environment,
)
from inference_models.packages.loader import PACKAGES_FOLDER, load_packages
from inference_models.packages.package import ModelPackage

_log = logging.getLogger(__name__)


class PackageSelector:
    """Reads the packages of models and takes the best of each.

    Args:
        backends: name to opener.
        families: the table of families.
        device: where models run.
        preferences: what the host asks for.
    """

    def __init__(
        self,
        backends: Mapping[str, BackendOpener],
        families: Iterable[Family],
        device: str,
        preferences: PackagePreferences | None = None,
    ) -> None:
        self._backends = backends
        self._families = tuple(families)
        self._device = device
        self._preferences = preferences or PackagePreferences()

    def package_at(
        self, place: Path, environment: RuntimeEnvironment | None = None
    ) -> ModelPackage:
        """The package of a folder or file. A lone package is taken as it is; only of several is one
        chosen.

        Args:
            place: a package, or a folder with a `packages` folder of several.
            environment: what this machine can run; found out when None.

        Raises:
            CorruptedModelPackageError: a package is incomplete, or there is none.
            NoModelPackagesAvailableError: none of several runs here.
        """
        packages = load_packages(place)
        if not packages:
            raise CorruptedModelPackageError(
                f"{place / PACKAGES_FOLDER} holds no package: no folder with a model_config.json"
            )
        if len(packages) == 1 and packages[0].location == place:
            return packages[0]
        choice = choose_package(
            packages,
            environment or describe_environment(self._device),
            self._preferences,
            self._missing_implementation,
        )
        for name, reason in choice.discarded:
            _log.info("%s: package %s is not used: %s", place, name, reason)
        return choice.ranked[0]

    def _missing_implementation(self, package: ModelPackage) -> str | None:
        """Why nothing here reads a package, None when something does."""
        if package.backend not in self._backends:
            return f'there is no backend "{package.backend}"'
        try:
            family_of(package, self._families)
        except ModelImplementationNotFoundError:
            return f'there is no family "{package.architecture}" for {package.task}'
        return None
