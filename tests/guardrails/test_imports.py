"""What is loaded when (D19)."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import llm4s_notebook
from llm4s_notebook import guardrails


def test_nothing_is_loaded_before_a_detector_is_made():
    """D19: neither the libraries, nor what presidio brings, nor the patterns of guardrails that nobody uses."""
    code = """
    import json, sys
    import llm4s_notebook
    from llm4s_notebook import Agent, GuardrailMiddleware

    seen = []

    def look():
        libraries = {"phonenumbers", "stdnum", "presidio_analyzer", "spacy", "tldextract"} & set(sys.modules)
        patterns = {name for name in sys.modules if name.startswith("llm4s_notebook.guardrails._") and "pii" in name}
        seen.append([sorted(libraries), bool(patterns)])

    look()
    from llm4s_notebook import LlmJudge, PiiDetector, PiiMasker, PromptInjectionDetector
    PromptInjectionDetector()
    look()
    PiiMasker()
    look()
    print(json.dumps(seen))
    """
    made = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert json.loads(made.stdout) == [[[], False], [[], True], [["phonenumbers", "stdnum"], True]]


def test_every_public_name_is_there():
    """The names of the room, and those that are at the front door too."""
    assert {name for name in guardrails.__all__ if not hasattr(guardrails, name)} == set()
    at_the_door = "JsonValidator LengthCheck LlmJudge PiiDetector PiiMasker PromptInjectionDetector RegexValidator WordList"
    for name in at_the_door.split():
        assert getattr(llm4s_notebook, name) is getattr(guardrails, name)
    assert set(at_the_door.split()) <= set(llm4s_notebook.__all__)
    assert {"Guardrail", "Refused", "all_of", "any_of", "sequence", "presidio"} <= set(guardrails.__all__)
