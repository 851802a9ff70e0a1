"""HTTP service of `tideproof serve`: JSON API, web pages, feature flags and webhooks of experiments."""

from tideproof.errors import MissingExtra

try:
    import anyio  # noqa: F401
    import fastapi  # noqa: F401
    import jinja2  # noqa: F401
    import prometheus_client  # noqa: F401
    import python_multipart  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    raise MissingExtra.for_module("fastapi", "serve", "tideproof serve") from None
