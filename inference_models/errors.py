"""The one tree of errors of models: loading, choosing, running. Nothing here may import another
module of the package.

Class names are part of the contract with code that catches them by name, so the tree names also
what only a source of models (a registry, a hosted service) raises.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import ClassVar


class InferenceModelsError(Exception):
    """Base of every error about a model.

    Args:
        message: what is wrong, where, what was found and what was expected.
        hint: the way out, often the nearest known name.
        help_url: a page that explains the error, if there is one.
    """

    code: ClassVar[str] = "inference_models_error"

    def __init__(self, message: str, hint: str | None = None, help_url: str | None = None) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint
        self.help_url = help_url


class AssumptionError(InferenceModelsError):
    """An invariant of this package does not hold: a bug of ours."""

    code = "assumption_broken"


class EnvironmentConfigurationError(InferenceModelsError):
    """The host is set up in a way models cannot run with."""

    code = "environment_misconfigured"


class InvalidEnvVariableError(InferenceModelsError):
    """A setting read from the environment has a value that means nothing."""

    code = "invalid_environment_variable"


class MissingDependencyError(InferenceModelsError):
    """An optional package is needed and not installed."""

    code = "missing_dependency"


class ModelRuntimeError(InferenceModelsError):
    """A loaded model failed or answered with something it must not answer with."""

    code = "model_runtime_error"


class ModelManagerClosedError(ModelRuntimeError):
    """The manager was closed and serves no more calls."""

    code = "model_manager_closed"


class ModelBusyError(ModelRuntimeError):
    """A model has as many calls waiting as it may have; the call was not taken.

    Args:
        message: which model, and how many calls wait.
        retry_after: seconds after which a new try is likely to be taken.
    """

    code = "model_busy"

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, hint=f"try again in {retry_after:.2g} s")
        self.retry_after = retry_after


class ModelDeadlineExceededError(ModelRuntimeError):
    """The deadline of a call passed before its network ran."""

    code = "model_deadline_exceeded"


class ModelCallCancelledError(ModelRuntimeError):
    """A call was given up by its caller before its network ran."""

    code = "model_call_cancelled"


class ModelInputError(InferenceModelsError):
    """The images handed to a model are not images it can take."""

    code = "invalid_model_input"


class RetryError(InferenceModelsError):
    """Something that may be tried again failed every time."""

    code = "retries_exhausted"


class UntrustedFileError(InferenceModelsError):
    """A file comes without the hash that would make it trustworthy."""

    code = "untrusted_file"


class FileHashSumMismatchError(InferenceModelsError):
    """A file is not the one that was announced."""

    code = "file_hash_mismatch"


class InvalidParameterError(InferenceModelsError, ValueError):
    """A parameter is unknown, or its value is out of range."""

    code = "invalid_parameter"


class InvalidMaskDecodeArgument(InvalidParameterError):
    """The mode of mask decoding is unknown, or its factor is out of range."""

    code = "invalid_mask_decode_argument"


class PreloadedDependencyMismatchError(InvalidParameterError):
    """A preloaded dependency is not the one the model asks for."""

    code = "preloaded_dependency_mismatch"


class ModelRetrievalError(InferenceModelsError):
    """A model could not be fetched from where it lives."""

    code = "model_retrieval_failed"


class ModelNotFoundError(ModelRetrievalError):
    """No model has this id, or no file lies at this path."""

    code = "model_not_found"


class UnauthorizedModelAccessError(ModelRetrievalError):
    """The source of models wants to know who asks."""

    code = "unauthorized_model_access"


class ForbiddenModelAccessError(ModelRetrievalError):
    """The source of models refuses this model to this caller."""

    code = "forbidden_model_access"


class PaymentRequiredError(ModelRetrievalError):
    """The source of models wants to be paid first."""

    code = "payment_required"


class UsagePausedError(ModelRetrievalError):
    """The source of models has paused this account."""

    code = "usage_paused"


class ModelMetadataConsistencyError(ModelRetrievalError):
    """The source of models contradicts itself."""

    code = "model_metadata_inconsistent"


class ModelMetadataHandlerNotImplementedError(ModelRetrievalError):
    """The source of models describes a package in a way nobody here reads."""

    code = "model_metadata_handler_missing"


class ModelPackageNegotiationError(InferenceModelsError):
    """No package of the model fits what was asked for and what is installed."""

    code = "model_package_negotiation_failed"


class UnknownBackendTypeError(ModelPackageNegotiationError):
    """A backend is named that does not exist."""

    code = "unknown_backend_type"


class UnknownQuantizationError(ModelPackageNegotiationError):
    """A quantisation is named that does not exist."""

    code = "unknown_quantization"


class InvalidRequestedBatchSizeError(ModelPackageNegotiationError):
    """The batch size asked for is not a batch size."""

    code = "invalid_requested_batch_size"


class NoModelPackagesAvailableError(ModelPackageNegotiationError):
    """No package is left after all requirements."""

    code = "no_model_packages_available"


class AmbiguousModelPackageResolutionError(ModelPackageNegotiationError):
    """More than one package answers to what must be one."""

    code = "ambiguous_model_package"


class RuntimeIntrospectionError(ModelPackageNegotiationError):
    """What this machine can run could not be found out."""

    code = "runtime_introspection_failed"


class ModelLoadingError(InferenceModelsError):
    """A package was found and does not load."""

    code = "model_loading_failed"


class ModelPackageAlternativesExhaustedError(ModelLoadingError):
    """Every package that could be tried failed.

    Args:
        message: what was tried.
        failures: package id to its error.
    """

    code = "model_package_alternatives_exhausted"

    def __init__(self, message: str, failures: Mapping[str, BaseException] | None = None) -> None:
        super().__init__(message)
        self.failures = dict(failures or {})


class MissingModelInitParameterError(ModelLoadingError):
    """The file alone does not say what the model is."""

    code = "missing_model_init_parameter"


class InvalidModelInitParameterError(ModelLoadingError):
    """What was said about the model cannot be true."""

    code = "invalid_model_init_parameter"


class InsecureModelIdentifierError(ModelLoadingError):
    """A model id tries to leave the folder models live in."""

    code = "insecure_model_identifier"


class DirectLocalStorageAccessError(ModelLoadingError):
    """A path is used as a model id where the host allows none."""

    code = "local_paths_forbidden"


class ForbiddenLocalCodePackageAccessError(ModelLoadingError):
    """A package brings Python code of its own; such packages are not loaded."""

    code = "code_packages_forbidden"


class ModelImplementationNotFoundError(ModelLoadingError):
    """No family or backend here reads this kind of model."""

    code = "model_implementation_not_found"


class CorruptedModelPackageError(ModelLoadingError):
    """A package is incomplete or contradicts itself or its weights."""

    code = "corrupted_model_package"


class ModelPackageRestrictedError(ModelLoadingError):
    """A limit of the host forbids the package."""

    code = "model_package_restricted"


class DependencyModelParametersValidationError(ModelLoadingError):
    """Parameters for a model this model depends on are wrong."""

    code = "dependency_model_parameters_invalid"


def nearest_name_hint(name: str, known: Iterable[str]) -> str | None:
    """`did you mean "x"?` with the closest known name, None when nothing is close."""
    closest = difflib.get_close_matches(name, list(known), n=1)
    return f'did you mean "{closest[0]}"?' if closest else None
