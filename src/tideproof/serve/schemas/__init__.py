"""Request and response bodies of the HTTP API, as OpenAPI describes them."""
