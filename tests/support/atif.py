"""The rules of ATIF 1.7 for a document, written down from its description; unknown keys are faults."""

from __future__ import annotations

from typing import Any

_ROOT = {"schema_version", "agent", "steps"}
_ROOT_MORE = {
    "session_id",
    "trajectory_id",
    "notes",
    "final_metrics",
    "continued_trajectory_ref",
    "subagent_trajectories",
    "extra",
}
_AGENT_MORE = {"model_name", "tool_definitions", "extra"}
_STEP = {"step_id", "source", "message"}
_AGENT_ONLY = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}
_STEP_MORE = _AGENT_ONLY | {"observation", "timestamp", "is_copied_context", "llm_call_count", "extra"}
_METRICS = {"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "logprobs", "extra"}
_TOTALS = {
    "total_prompt_tokens",
    "total_completion_tokens",
    "total_cached_tokens",
    "total_cost_usd",
    "total_steps",
    "extra",
}


def atif_faults(document: dict[str, Any]) -> list[str]:
    faults = _keys("root", document, _ROOT, _ROOT_MORE)
    if document.get("schema_version") != "ATIF-v1.7":
        faults.append("root: another version")
    faults += _keys("agent", document["agent"], {"name", "version"}, _AGENT_MORE)
    faults += _keys("final_metrics", document.get("final_metrics", {}), set(), _TOTALS)
    if not document["steps"]:
        faults.append("root: no step")
    for number, step in enumerate(document["steps"], start=1):
        faults += _step_faults(f"step {number}", number, step)
    return faults


def _step_faults(where: str, number: int, step: dict[str, Any]) -> list[str]:
    faults = _keys(where, step, _STEP, _STEP_MORE)
    if step["step_id"] != number:
        faults.append(f"{where}: its number is {step['step_id']}")
    if step["source"] not in {"user", "agent", "system"}:
        faults.append(f"{where}: source {step['source']}")
    if step["source"] != "agent" and _AGENT_ONLY & step.keys():
        faults.append(f"{where}: {_AGENT_ONLY & step.keys()} of somebody who is no agent")
    if step.get("llm_call_count") == 0 and {"metrics", "reasoning_content"} & step.keys():
        faults.append(f"{where}: metrics without a call")
    faults += _keys(f"{where} metrics", step.get("metrics", {}), set(), _METRICS)
    for call in step.get("tool_calls", []):
        faults += _keys(f"{where} call", call, {"tool_call_id", "function_name", "arguments"}, {"extra"})
        if not isinstance(call["arguments"], dict):
            faults.append(f"{where}: arguments are no object")
    ids = {call["tool_call_id"] for call in step.get("tool_calls", [])}
    for result in step.get("observation", {"results": []})["results"]:
        faults += _keys(f"{where} result", result, set(), {"source_call_id", "content", "extra"})
        if result.get("source_call_id") not in ids:
            faults.append(f"{where}: an answer to no call of it")
    return faults


def _keys(where: str, found: dict[str, Any], needed: set[str], allowed: set[str]) -> list[str]:
    missing, unknown = needed - found.keys(), found.keys() - needed - allowed
    empty = {name for name, one in found.items() if one is None}
    told = (("lacks", missing), ("does not know", unknown), ("has nothing for", empty))
    return [f"{where} {what} {sorted(names)}" for what, names in told if names]
