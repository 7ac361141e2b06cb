"""The two classes a block is made of: its manifest (the JSON of a step) and its code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from execution_engine.block_api.flow_control import FlowControl
from execution_engine.kinds.catalogue import WILDCARD_KIND
from execution_engine.kinds.kind import Kind
from execution_engine.kinds.representation import NUMPY

BlockResult = (
    dict[str, Any]
    | list[dict[str, Any]]
    | list[list[dict[str, Any]]]
    | FlowControl
    | list[FlowControl]
)


@dataclass(frozen=True, slots=True)
class OutputDefinition:
    """One named output of a block and the kinds it may have."""

    name: str
    kind: list[Kind] = field(default_factory=lambda: [WILDCARD_KIND])

    @property
    def kind_names(self) -> tuple[str, ...]:
        """Names of the kinds in declared order."""
        return tuple(kind.name for kind in self.kind)


class WorkflowBlockManifest(BaseModel):
    """Base of all manifests: the fields of a step and what the engine must know to feed it.

    Subclasses declare `type` as a `Literal` whose first value is the canonical id and whose others
    are aliases.
    """

    model_config = ConfigDict(extra="ignore", validate_assignment=True, protected_namespaces=())

    type: str
    name: str

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The outputs of the block; a single `*` entry when they depend on the fields of a step."""
        raise NotImplementedError(f"{cls.__name__} does not describe its outputs")

    def get_actual_outputs(self) -> list[OutputDefinition]:
        """The outputs of this very step."""
        return self.describe_outputs()

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        """Fields whose values arrive as `Batch`; the block is then called once for all elements."""
        return []

    @classmethod
    def get_parameters_accepting_batches_and_scalars(cls) -> list[str]:
        """Fields whose values arrive as `Batch` or as they are."""
        return []

    @classmethod
    def get_parameters_enforcing_auto_batch_casting(cls) -> list[str]:
        """Fields whose scalars are wrapped into batches before the call."""
        return []

    @classmethod
    def accepts_batch_input(cls) -> bool:
        """Whether the block is called with batches instead of once an element."""
        return bool(
            cls.get_parameters_accepting_batches()
            or cls.get_parameters_accepting_batches_and_scalars()
        )

    @classmethod
    def get_input_dimensionality_offsets(cls) -> dict[str, int]:
        """How much deeper than the shallowest field each named one lies; 0 for the others."""
        return {}

    @classmethod
    def get_dimensionality_reference_property(cls) -> str | None:
        """The field whose depth the outputs follow; needed when the offsets differ."""
        return None

    @classmethod
    def get_output_dimensionality_offset(cls) -> int:
        """-1, 0 or +1: change of nesting from inputs to outputs."""
        return 0

    @classmethod
    def accepts_empty_values(cls) -> bool:
        """Whether elements that are None reach the block instead of being left out."""
        return False

    @classmethod
    def get_parameters_written_in_place(cls) -> list[str]:
        """Fields whose values `run` changes in place; the engine hands each such value over as a
        private copy.
        """
        return []

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        """Fields that are accepted but change nothing, each with the reason; the published schema
        shows it.
        """
        return {}

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Range of engine versions the block works with (PEP 440), None for any."""
        return None

    @classmethod
    def get_air_gapped_availability(cls) -> dict[str, Any]:
        """`{"available": bool, "reason": str | None}`: whether the block works offline."""
        return {"available": True, "reason": None}

    @classmethod
    def get_restrictions(cls) -> list[dict[str, Any]]:
        """Where the block should not be used, for editors."""
        return []

    @classmethod
    def get_supported_model_variants(cls) -> list[str] | None:
        """Ids of cached weights that make the block usable offline."""
        return None

    @classmethod
    def get_compatible_task_types(cls) -> list[str] | None:
        """Task types of the models the block runs, such as `object-detection`."""
        return None


class WorkflowBlock(ABC):
    """Base of the code of all blocks. State kept on `self` lives as long as the engine instance.

    Attributes:
        returns_futures: whether values in the results may be `concurrent.futures.Future`; the
            engine then looks for them in nested containers too. The blocks of this project set it
            to False.
        representation: in which representation `run` takes and gives values.
    """

    returns_futures: ClassVar[bool] = True
    representation: ClassVar[str] = NUMPY

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        """Names of the constructor arguments the engine must provide."""
        return []

    @classmethod
    @abstractmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The class of the block's manifest."""

    @classmethod
    def get_siblings(cls) -> list[type[WorkflowBlock]]:
        """Classes that do the same on values in another `representation`, one each.

        They share this block's manifest class and constructor arguments. Blocks of a generated
        index need not name theirs.
        """
        return []

    @abstractmethod
    def run(self, *args: Any, **kwargs: Any) -> BlockResult:
        """One call of the block; arguments are the manifest's fields except `type` and `name`."""

    def close(self) -> None:  # noqa: B027 - optional hook
        """Gives back what the block holds; called once when the engine closes."""
