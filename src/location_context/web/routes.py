"""Every endpoint of the JSON service and its documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from location_context.web import docs, openapi, status
from location_context.web.sections import section_endpoint

if TYPE_CHECKING:
    from location_context.service import Service
    from location_context.web.endpoint import Endpoint
    from location_context.web.middleware import Front


def endpoints(service: Service, front: Front, oembed: type) -> list[Endpoint]:
    """The endpoints, each at its one path; `oembed` is the Struct that `/v1/oembed` answers."""
    document = openapi.document(
        service.settings.public_url, [cached.section for cached in service.sections], oembed
    )
    return [
        *(section_endpoint(service, section) for section in service.sections),
        status.health_endpoint(lambda: front.draining),
        status.status_endpoint(service),
        openapi.endpoint(document),
        docs.endpoint(document),
    ]
