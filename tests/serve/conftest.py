"""Fixtures of the service: an app, and a client of it that may do everything."""

import pytest

from serve.service_clients import Here, app_of


@pytest.fixture
def begin(tmp_path):
    """What begins a service with settings, and ends it."""
    begun = []

    def begin(**settings):
        begun.append(Here(app_of(tmp_path, **settings)))
        return begun[-1]

    yield begin
    for each in begun:
        each.close()


@pytest.fixture
def here(begin):
    return begin()
