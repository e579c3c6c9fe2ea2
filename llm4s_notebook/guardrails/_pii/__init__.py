"""Personal data in a text: what finds it, where it stands, and the guardrails that refuse or mask it."""

from ._guardrails import PII_KINDS, PiiDetector, PiiKind, PiiMasker
from ._presidio import PresidioRecognizer, presidio
from ._recognizer import PiiRecognizer
from ._span import PiiSpan

__all__ = ["PII_KINDS", "PiiDetector", "PiiKind", "PiiMasker", "PiiRecognizer", "PiiSpan", "PresidioRecognizer", "presidio"]
