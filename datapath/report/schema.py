"""The JSON schema of a trace, made from the step dataclasses, so that it cannot lag behind them."""

from __future__ import annotations

import types
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from datapath.capture.played import Role
from datapath.model import steps
from datapath.model.verdicts import Outcome

JSON_TYPES = {int: "integer", str: "string", bool: "boolean", type(None): "null"}


def trace_schema() -> dict[str, Any]:
    """The schema of one line of `--trace` (JSON lines), which is also one element of `--json`'s list `records`."""
    nullable_string = {"type": ["string", "null"]}
    packet = _object(
        {
            "protocol": {"type": "string"}, "source": {"type": "string"}, "destination": {"type": "string"},
            "source_port": {"type": "integer"}, "destination_port": {"type": "integer"}, "info": {"type": "string"},
        },
        ["protocol", "source", "destination"],
    )  # fmt: skip
    end = _object(
        {"before": {"type": "string"}, "after": {"type": "string"}, "rule": nullable_string, "by_entry": {"type": "boolean"}}, []
    )
    output = _object(
        {"interface": {"type": "string"}, "length": {"type": "integer"}, "frame": {"type": "string"}, "packet": {"$ref": "#/$defs/packet"}},
        ["interface", "length", "frame", "packet"],
    )
    difference = _object({key: {"type": "string"} for key in ("what", "predicted", "captured")}, ["what", "predicted", "captured"])
    record = _object(
        {
            "role": {"enum": [role.value for role in Role], "description": (Role.__doc__ or "").strip()},
            "number": {"type": "integer", "description": "of the record in the capture, from 1"},
            "time_ns": {"type": "integer", "description": "since the epoch"},
            "interface": nullable_string,
            "copy_of": {"type": "integer", "description": "number of the record whose packet this is"},
            "packet": {"$ref": "#/$defs/packet"},
            "verdict": {"enum": [outcome.value for outcome in Outcome]},
            "drop_reason": {**nullable_string, "description": "a name of enum skb_drop_reason of Linux 6.18"},
            "conntrack": _object({"state": {"type": "string"}, "entry": {"type": ["integer", "null"]}}, ["state", "entry"]),
            "nat": _object({"source": end, "destination": end}, []),
            "rules_tried": {
                "type": "object", "additionalProperties": {"type": "integer"},
                "description": "by table/chain: rules that Linux tries for this packet",
            },
            "outputs": {"type": "array", "items": output},
            "steps": {"type": "array", "items": {"oneOf": [{"$ref": f"#/$defs/{_name(kind)}"} for kind in step_types()]}},
            "differences": {"type": "array", "items": difference},
            "notes": {"type": "array", "items": {"type": "string"}},
            "original_unknown": {"type": "boolean"},
        },
        ["role", "interface"],
    )  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One record of a replay",
        **record,
        "$defs": {"packet": packet, **{_name(kind): _step_schema(kind) for kind in step_types()}},
    }


def step_types() -> list[type[steps.Step]]:
    """Every kind of step, once: a slotted dataclass leaves the class that it replaces behind."""
    return [kind for _, kind in sorted({kind.KIND: kind for kind in steps.Step.__subclasses__()}.items())]


def _name(kind: type[steps.Step]) -> str:
    return kind.KIND.replace(" ", "_")


def _step_schema(kind: type[steps.Step]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    properties: dict[str, Any] = {"step": {"const": kind.KIND}}
    required = ["step"]
    for field in fields(kind):
        hint = hints[field.name]
        options = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        properties[field.name] = {"type": JSON_TYPES[next(option for option in options if option is not type(None))]}
        if type(None) not in options and field.name != "depth":
            required.append(field.name)
    return {**_object(properties, required), "description": " ".join((kind.__doc__ or "").split())}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
