"""The support of an imaginary shop, for lesson 2: its orders, and a stand-in for a language model that does as its system prompt says.

The stand-in understands a handful of words, so that two prompts give two behaviours without any model:

- "look up" - it looks an order up before it says or does anything about it; else it believes the customer, and makes up the rest;
- "30 days", or another number - it gives no money back for what arrived longer ago, which it can only know when it looks up;
- "short", "brief" or "sentences" - it leaves the pleasantries out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..models import AssistantMessage, Message, ModelRequest, SystemMessage, ToolCall, ToolMessage, UserMessage, calls

FIND, REFUND = "find_order", "refund"
_LOOKS_UP = re.compile(r"\blook\w*\b[^.]*\bup\b", re.IGNORECASE)
_DAYS = re.compile(r"(\d+) days", re.IGNORECASE)
_SHORT = re.compile(r"\b(short|brief|sentences?)\b", re.IGNORECASE)
_MONEY = re.compile(r"\b(refund|money|back)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b[A-Z]-\d{4}\b")
_EUROS = re.compile(r"(\d+) ?(?:euros?|€)", re.IGNORECASE)
_FOUND = re.compile(r"(?P<thing>.+), (?P<euros>\d+) euros, arrived (?P<days>\d+) days? ago")


@dataclass(frozen=True)
class Order:
    """What was bought, what it cost, and how long ago it arrived."""

    thing: str
    euros: int
    days: int

    def __str__(self) -> str:
        return f"{self.thing}, {self.euros} euros, arrived {self.days} day{'s' if self.days != 1 else ''} ago"


ORDERS = {"A-1001": Order("kettle", 39, 3), "A-1002": Order("desk lamp", 25, 80), "A-1003": Order("backpack", 89, 1)}


def shop_model(request: ModelRequest) -> str | AssistantMessage:
    """Say or call what the prompt, the customer and the results so far lead to."""
    prompt = "\n".join(message.content for message in request.messages if isinstance(message, SystemMessage))
    asked, results = _since_the_customer_wrote(request.messages)
    said = _step(prompt, asked, results, f"call-{sum(isinstance(message, ToolMessage) for message in request.messages) + 1}")
    if not isinstance(said, str) or _SHORT.search(prompt):
        return said
    return f"Thank you so much for writing to us! {said} Is there anything else I can do for you today? We are always happy to help!"


def _since_the_customer_wrote(messages: tuple[Message, ...]) -> tuple[str, list[str]]:
    """The customer's last words, and what the tools gave since then."""
    last = max((at for at, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1)
    asked = messages[last].content or "" if last >= 0 else ""
    return asked, [message.content for message in messages[last + 1 :] if isinstance(message, ToolMessage)]


def _step(prompt: str, asked: str, results: list[str], id: str) -> str | AssistantMessage:
    number = _NUMBER.search(asked)
    if number is None:
        return "Which order is it about? Its number is on the invoice, like A-1001."
    wants_money = _MONEY.search(asked) is not None
    if not results and _LOOKS_UP.search(prompt):
        return calls(ToolCall(id, FIND, {"number": number.group()}))
    found = next((match for result in results if (match := _FOUND.search(result))), None)
    if found is None and not results:
        claimed = _EUROS.search(asked)
        if wants_money:
            return calls(ToolCall(id, REFUND, {"number": number.group(), "euros": int(claimed.group(1)) if claimed else 50}))
        return "It left our warehouse this morning and will certainly be with you tomorrow."
    if found is not None and len(results) == 1:
        if not wants_money:
            return f"Your {found['thing']} arrived {_ago(int(found['days']))}."
        limit = _DAYS.search(prompt)
        if limit is not None and int(found["days"]) > int(limit.group(1)):
            return f"I am sorry, the {found['thing']} arrived {_ago(int(found['days']))}; we refund within {limit.group()}."
        return calls(ToolCall(id, REFUND, {"number": number.group(), "euros": int(found["euros"])}))
    return _of_the_refund(results[-1])


def _of_the_refund(result: str) -> str:
    refused = re.search(r"Rejected: (.*?)\"?}?$", result)
    return f"I am sorry, I cannot do that: {refused.group(1)}." if refused else f"{result[:1].upper()}{result[1:]}."


def _ago(days: int) -> str:
    return "yesterday" if days == 1 else f"{days} days ago"
