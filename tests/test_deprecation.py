"""Old public names: they work, and warn with the new name and the line that used the old one."""

from __future__ import annotations

import warnings

import pytest

from ssdgym import requests
from ssdgym.deprecation import old_arguments, old_names, warn_renamed


def test_warn_renamed__points_at_the_caller() -> None:
    with pytest.warns(FutureWarning, match="settle is now called warmup; .* next version") as caught:
        warn_renamed("settle", "warmup", stacklevel=1)
    assert caught[0].filename == __file__


def test_old_arguments__are_passed_on_under_the_new_name_and_warn() -> None:
    @old_arguments(settle="warmup")
    def run(pages: int, *, warmup: int = 0) -> tuple[int, int]:
        return pages, warmup

    with pytest.warns(FutureWarning, match=r"argument settle of .*run is now called warmup") as caught:
        assert run(7, settle=3) == (7, 3)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(7, warmup=3) == (7, 3)


def test_old_names__serve_the_new_object_and_warn() -> None:
    serve = old_names("ssdgym.old", {"THING": "ssdgym.requests.REQUEST"})
    with pytest.warns(FutureWarning, match=r"ssdgym\.old\.THING is now called ssdgym\.requests\.REQUEST"):
        assert serve("THING") is requests.REQUEST


def test_old_names__unknown_name__is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ssdgym.old' has no attribute 'other'"):
        old_names("ssdgym.old", {})("other")


@pytest.mark.parametrize("name", ["REQUEST", "Requests", "READ", "PARTIAL_HEAD"])
def test_workloads_requests__is_the_old_home_of_the_request(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from ssdgym.workloads import requests as old
    with pytest.warns(FutureWarning, match=rf"ssdgym\.requests\.{name}") as caught:
        assert getattr(old, name) is getattr(requests, name)
    assert caught[0].filename == __file__
