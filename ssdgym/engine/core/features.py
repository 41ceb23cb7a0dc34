"""Features, called by address: one caller for each kind that more than one place computes."""

from __future__ import annotations

from numba import types

from ssdgym.engine.core.kernel import function_at
from ssdgym.engine.core.observed import FEATURE_SHAPES

candidate_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["candidate"]))
decision_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["decision"]))
device_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["device"]))
page_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["page"]))
die_feature_at = function_at(types.FunctionType(FEATURE_SHAPES["die"]))
