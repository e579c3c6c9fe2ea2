"""Checks on a text, and how a list of them judges it. Knows nothing of agents or graphs."""

from ._checks import JsonValidator as JsonValidator
from ._checks import LengthCheck as LengthCheck
from ._checks import RegexValidator as RegexValidator
from ._checks import WordList as WordList
from ._composite import all_of as all_of
from ._composite import any_of as any_of
from ._composite import sequence as sequence
from ._guardrail import Failure as Failure
from ._guardrail import Guardrail as Guardrail
from ._guardrail import Judgement as Judgement
from ._guardrail import Refused as Refused
from ._guardrail import as_guardrails as as_guardrails
from ._guardrail import check as check
from ._guardrail import judge as judge
from ._injection import PromptInjectionDetector as PromptInjectionDetector
from ._llm_judge import JudgeFailed as JudgeFailed
from ._llm_judge import LlmJudge as LlmJudge
from ._pii import PII_KINDS as PII_KINDS
from ._pii import PiiDetector as PiiDetector
from ._pii import PiiKind as PiiKind
from ._pii import PiiMasker as PiiMasker
from ._pii import PiiRecognizer as PiiRecognizer
from ._pii import PiiSpan as PiiSpan
from ._pii import presidio as presidio
from ._worker import in_worker as in_worker
