"""Rewrites one step of a workflow's JSON text for the next version of its block, where the meaning
is certain, and says what it did and what a person must look at. Chooses no version.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from execution_engine.block_api.spec import BlockSpec, FieldSpec
from execution_engine.registry.init_parameters import CORE_SOURCE
from workflows.upgrading.changes import described
from workflows.upgrading.json_text import (
    Member,
    Node,
    add_members,
    parse_places,
    rename_member,
    replace_member,
    replace_value,
)

# Between these, a threshold became a mode: `custom` with the same number is the same threshold.
_THRESHOLD = "confidence"
_MODE, _CUSTOM = "confidence_mode", "custom_confidence"

# By field: the value with which a version that goes by it does what one did that ignored it.
_AS_IGNORED = {"mask_decode_mode": "accurate"}


@dataclass(slots=True)
class StepRewriting:
    """A step on its way through versions, in the text of its workflow.

    Attributes:
        text: the JSON text of the whole workflow.
        where: JSON pointer to the step.
        name: what the step is called; one of an inner workflow has a longer name than its own.
        done: what was changed, in words.
        notes: what may matter to a person: it cannot be decided here.
        needed: fields the new version needs, with what they take.
    """

    text: str
    where: str
    name: str
    done: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    needed: dict[str, str] = field(default_factory=dict)
    _parsed: tuple[str, Node] | None = None

    def advance(
        self,
        old: BlockSpec,
        new: BlockSpec,
        old_schema: Mapping[str, Any],
        new_schema: Mapping[str, Any],
    ) -> None:
        """Rewrites the step from a version to the next one; the schemas are the published ones."""
        self._set_type(new)
        if _is_threshold_made_mode(old, new):
            self._map_threshold(old, new, old_schema)
        self._keep_defaults(old, new, old_schema, new_schema)
        self._drop_removed(old, new)
        self._rename_keys(old, new)
        for name in old.inert_fields:
            given = self._given(old.fields[name])
            if given is not None and name in new.fields and name not in new.inert_fields:
                self.notes.append(
                    f"{name} is {self._value_text(given)}: {old.version} ignored it, {new.version} "
                    f"goes by it; {self._way_back(name, old, new)}"
                )

    def fill(self, spec: BlockSpec, values: Mapping[str, str]) -> None:
        """Gives fields of the step their values, as JSON texts, under the names the block has."""
        for name, value in values.items():
            given = self._given(spec.fields[name])
            if given is not None:
                self.text = replace_value(self.text, given, value)
            else:
                self.text = add_members(
                    self.text, self._step, [(spec.fields[name].aliases[0], value)]
                )
            self.done.append(f"{name} is set to {value}")

    def find_needed(self, spec: BlockSpec, schema: Mapping[str, Any]) -> None:
        """Notes the fields the step lacks and the block requires."""
        for name, form in spec.fields.items():
            if form.required and self._given(form) is None:
                self.needed[name] = str(described(form, schema).get("description", "")).rstrip(".")

    def _set_type(self, new: BlockSpec) -> None:
        member = self._step.member("type")
        assert member is not None  # every step that has a block has a type
        self.text = replace_value(self.text, member, _json(new.type_id))

    def _map_threshold(self, old: BlockSpec, new: BlockSpec, schema: Mapping[str, Any]) -> None:
        given = self._given(old.fields[_THRESHOLD])
        names = new.fields[_MODE].aliases[0], new.fields[_CUSTOM].aliases[0]
        if given is None:
            value = _json(described(old.fields[_THRESHOLD], schema).get("default"))
            members = [(names[0], '"custom"'), (names[1], value)]
            self.text = add_members(self.text, self._step, members)
            self.done.append(f'{_MODE} "custom" and {_CUSTOM} {value} keep the old default')
            return
        value = self._value_text(given)
        members = [(names[0], '"custom"'), (names[1], value)]
        self.text = replace_member(self.text, self._step, given, members)
        self.done.append(f'{_THRESHOLD} {value} became {_MODE} "custom" and {_CUSTOM} {value}')

    def _keep_defaults(
        self,
        old: BlockSpec,
        new: BlockSpec,
        old_schema: Mapping[str, Any],
        new_schema: Mapping[str, Any],
    ) -> None:
        """Writes out defaults that change, so that the step keeps doing what it did."""
        for name in (name for name in old.fields if name in new.fields):
            before, after = old.fields[name], new.fields[name]
            if before.required or self._given(before) is not None or name in old.inert_fields:
                continue
            value = described(before, old_schema).get("default")
            if after.required or value != described(after, new_schema).get("default"):
                text = _json(value)
                self.text = add_members(self.text, self._step, [(after.aliases[0], text)])
                self.done.append(f"{name} {text} is written out: the default changes")

    def _drop_removed(self, old: BlockSpec, new: BlockSpec) -> None:
        kept = {alias for form in new.fields.values() for alias in form.aliases}
        for name, form in old.fields.items():
            if name in new.fields:
                continue
            for alias in form.aliases:
                while alias not in kept and (member := self._step.member(alias)) is not None:
                    value = self._value_text(member)
                    self.text = replace_member(self.text, self._step, member, [])
                    if name in old.inert_fields:
                        self.done.append(f"{name} {value} is gone; it had no effect")
                    else:
                        self.done.append(f"{name} {value} is gone")
                        self.notes.append(
                            f"{new.version} has no {name}; the step gave {value}, which is lost"
                        )

    def _rename_keys(self, old: BlockSpec, new: BlockSpec) -> None:
        """Fields written under a name that the new version does not know any more."""
        for name in (name for name in old.fields if name in new.fields):
            given = self._given(old.fields[name])
            if given is not None and given.name not in new.fields[name].aliases:
                self.text = rename_member(self.text, given, new.fields[name].aliases[0])
                self.done.append(f"{given.name} is called {new.fields[name].aliases[0]}")

    def _way_back(self, name: str, old: BlockSpec, new: BlockSpec) -> str:
        """What to do about a value that was ignored and now counts."""
        place = f"{self.name}.{name}"
        value = _AS_IGNORED.get(name) if new.source == CORE_SOURCE else None
        if value is None:
            return f"--set {shlex.quote(place)}=VALUE gives it another"
        return f"--set {shlex.quote(f'{place}={value}')} keeps what {old.version} did"

    @property
    def _step(self) -> Node:
        if self._parsed is None or self._parsed[0] != self.text:
            self._parsed = self.text, parse_places(self.text).at(self.where)
        return self._parsed[1]

    def _given(self, form: FieldSpec) -> Member | None:
        """The member of the step that gives a field; of several names the first counts."""
        step = self._step
        return next(
            (member for alias in form.aliases if (member := step.member(alias)) is not None), None
        )

    def _value_text(self, member: Member) -> str:
        return self.text[member.value.start : member.value.end]


def _is_threshold_made_mode(old: BlockSpec, new: BlockSpec) -> bool:
    return (
        old.source == new.source == CORE_SOURCE
        and _THRESHOLD in old.fields
        and _THRESHOLD not in new.fields
        and {_MODE, _CUSTOM} <= new.fields.keys()
        and not {_MODE, _CUSTOM} & old.fields.keys()
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
