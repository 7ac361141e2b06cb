"""The registry of kinds and codecs that an engine starts from. Defines no kind and no codec."""

from __future__ import annotations

from collections.abc import Iterable

from execution_engine.kinds.builtin_codecs import WildcardCodec, builtin_codecs
from execution_engine.kinds.catalogue import ALL_KINDS
from execution_engine.kinds.codec import CodecRegistry, KindCodec
from execution_engine.kinds.kind import Kind


def default_codec_registry(
    plugin_codecs: Iterable[KindCodec] = (), plugin_kinds: Iterable[Kind] = ()
) -> CodecRegistry:
    """A registry with every kind of the language, the built-in codecs, and those of plug-ins.

    Args:
        plugin_codecs: added last, in order; for one kind, earlier codecs are asked first.
        plugin_kinds: kinds beyond those of the language; a name that exists keeps its kind.
    """
    registry = CodecRegistry(ALL_KINDS, builtin_codecs())
    registry.add_codec(WildcardCodec(registry))
    for kind in plugin_kinds:
        registry.add_kind(kind)
    for codec in plugin_codecs:
        registry.add_codec(codec)
    return registry
