"""Devices that are refused: each in one sentence, which names the field, what is wrong and what to do."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError
from tests.config import test_block, test_device, test_subpage

BASES = {
    "plain": test_device.PLAIN,
    "layered": test_device.LAYERED,
    "blocks": test_block.PLAIN,
    "parts": test_subpage.PLAIN,
}
TABLE = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
ROWS = [(base, fields, sentence) for base, rows in TABLE.items() for fields, sentence in rows]


def with_fields(device: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """A device with fields set, or left out."""
    device = copy.deepcopy(device)
    for field, value in fields.items():
        part = device
        *path, last = field.split(".")
        for name in path:
            part = part.setdefault(name, {})
        if value == "absent":
            del part[last]
        else:
            part[last] = value
    return device


@pytest.mark.parametrize(
    ("base", "fields", "sentence"), ROWS, ids=[f"{base}: {', '.join(fields)}" for base, fields, _ in ROWS]
)
def test_device__that_does_not_fit__refused_in_a_sentence(
    base: str, fields: dict[str, Any], sentence: str
) -> None:
    device = {"base": "demo", **fields} if base == "demo" else with_fields(BASES[base], fields)
    with pytest.raises(SsdgymError) as caught:
        load_device(device)
    assert str(caught.value) == f"device {device.get('name', 'configuration')}: {sentence}"
    assert sentence.endswith(".") and "\n" not in sentence
