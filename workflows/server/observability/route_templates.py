"""`RouteTemplates`: the template of the route that a path belongs to, for requests that are refused
before a router has seen them. Routes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from fastapi import APIRouter
from starlette.routing import Match, Route

UNMATCHED = "(no route)"


class RouteTemplates:
    """Templates of the routes of routers that are included without a prefix, in their order.

    Args:
        routers: what requests are sent to, the first that fits first.
    """

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        self._routes = [
            route for router in routers for route in router.routes if isinstance(route, Route)
        ]

    def template_of(self, scope: MutableMapping[str, Any]) -> str:
        """Template of the route that the router took or would take, that of another method when no
        route has the method; `(no route)` when there is none. As many values as there are routes.
        """
        taken = getattr(scope.get("route"), "path", None)
        if taken is not None:
            return str(taken)
        nearest = UNMATCHED
        for route in self._routes:
            match, _ = route.matches(scope)
            if match == Match.FULL:
                return route.path
            if match == Match.PARTIAL and nearest == UNMATCHED:
                nearest = route.path
        return nearest
