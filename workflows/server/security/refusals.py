"""Faults that only the checks of this package raise. How they become answers is in `errors`."""

from __future__ import annotations

from workflows.server.faults import RequestFault


class MethodNotServedError(RequestFault):
    """No route knows the method."""

    status = 405
    context = "request | headers"


class AddressTooLongError(RequestFault):
    """The path or the query is longer than any that is meant."""

    status = 414
    context = "request | headers"


class HeadersTooLargeError(RequestFault):
    """There are too many headers, or they are too long."""

    status = 431
    context = "request | headers"


class TooManyWrongKeysError(RequestFault):
    """The address sent wrong API keys; its keys are not looked at before `Retry-After`."""

    status = 429
    context = "request | authorisation"


class BodyMemoryFullError(RequestFault):
    """The bodies of other requests take all the room there is."""

    status = 503
    context = "request | body"


class KeysUnreadableError(RequestFault):
    """The file of API keys cannot be read, so nobody is let in."""

    status = 503
    context = "request | authorisation"
