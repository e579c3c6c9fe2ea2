"""Two hundred answers of an imaginary shop's support, for lesson 3: most are fine, some promise too much, some tell what they must not."""

from __future__ import annotations

SHOP_MAIL = "help@shop.example"
SHOP_PHONE = "+1 212 555 0142"

_CUSTOMERS = ("Ada", "Bruno", "Chiara", "Deniz", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kofi", "Lena", "Mina")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_THINGS = ("kettle", "desk lamp", "backpack", "keyboard", "raincoat", "garden chair", "bicycle bell")

_FINE = (
    "Hello {customer}, your {thing} has left our warehouse and should reach you on {day}.",
    "Hello {customer}, I have put the invoice for your {thing} into your account, under Orders.",
    "Thank you, {customer}. The {thing} can be sent back within thirty days; the label is in the box.",
    "I am sorry about the scratch, {customer}. Shall I send another {thing}, or return what you paid?",
    "The {thing} comes in three colours, {customer}. Green is sold out until {day}.",
    "Good news, {customer}: the courier has your {thing} and will try again on {day}.",
    "To change the address, {customer}, open the order of the {thing} and choose Edit before {day}.",
    "We received your {thing}, {customer}. The refund is on its way and takes three to five working days.",
)

_ALARMING_BUT_FINE = (
    "The statutory guarantee on the {thing} is two years, {customer}; keep the receipt.",
    "Please never share your password, {customer}. Nobody of ours will ask for it.",
    "You can always change the delivery day until the evening before, {customer}.",
    "Write to " + SHOP_MAIL + " with a picture of the {thing}, {customer}, and we look at it on {day}.",
    "If the courier does not find you, {customer}, call " + SHOP_PHONE + " before {day} noon.",
)

_WRONG = (
    "Your {thing} is guaranteed to arrive on {day}, {customer}.",
    "Our parcels always arrive within one day, {customer}, so expect the {thing} tomorrow.",
    "The last buyer of this {thing} was very happy, {customer}: ask {other} at {mail}.",
    "We never make mistakes with a {thing}, {customer}. Look again.",
)


def support_answers() -> dict[str, str]:
    """The answers by their ids, "answer 001" to "answer 200"; the same each time."""
    return {f"answer {number:03}": _answer(number) for number in range(1, 201)}


def _answer(number: int) -> str:
    """Of each twenty answers seventeen are of the first kind, two of the second and one of the third."""
    turn, place = divmod(number, 20)
    if place in (7, 15):
        text = _ALARMING_BUT_FINE[(2 * turn + (place == 15)) % len(_ALARMING_BUT_FINE)]
    elif place == 11:
        text = _WRONG[turn % len(_WRONG)]
    else:
        text = _FINE[number % len(_FINE)]
    other = _CUSTOMERS[(3 * number + turn + 1) % len(_CUSTOMERS)]
    return text.format(
        customer=_CUSTOMERS[(3 * number + turn) % len(_CUSTOMERS)],
        thing=_THINGS[number % len(_THINGS)],
        day=_DAYS[number % len(_DAYS)],
        other=other,
        mail=f"{other.lower()}@mail.example",
    )
