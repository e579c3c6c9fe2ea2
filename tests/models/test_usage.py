from __future__ import annotations

from llm4s_notebook.models import ModelUsage, Usage, UsageSummary


def test_usage_is_summed_in_all_and_per_model():
    """1.5.1."""
    summary = UsageSummary().adding("a", Usage(10, 20, 0.5)).adding("b", Usage(1, 2)).adding("a", Usage(10, 20, 0.25))
    assert (summary.requests, summary.input_tokens, summary.output_tokens, summary.cost) == (3, 21, 42, 0.75)
    assert summary.by_model == {"a": ModelUsage(2, 20, 40, 0.75), "b": ModelUsage(1, 1, 2, None)}


def test_a_completion_without_usage_counts_as_a_request():
    """1.5.3."""
    assert UsageSummary().adding("a", None) == UsageSummary(1, 0, 0, None, {"a": ModelUsage(1)})
