"""Numbers that a state gives its people: a shape of ours, and the check digits and dates through `stdnum`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from ._recognizer import Shaped


@dataclass(frozen=True, slots=True)
class _Number:
    """One sort of number. `module` is stdnum's; a `telling` shape is looked for whatever the regions, since little else has it."""

    region: str
    module: str
    shape: str
    telling: bool = False
    kind: str = "national_id"


def _telling(region: str, module: str, shape: str, kind: str = "national_id") -> _Number:
    return _Number(region, module, shape, telling=True, kind=kind)


_NUMBERS = (
    _telling("US", "us.ssn", r"[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}", "ssn"),
    _telling("US", "us.itin", r"9[0-9]{2}[- ][0-9]{2}[- ][0-9]{4}"),
    _telling("AR", "ar.cuit", r"[0-9]{2}-[0-9]{8}-[0-9]"),
    _Number("AT", "at.vnr", r"[0-9]{4} ?[0-9]{6}"),
    _Number("AU", "au.tfn", r"[0-9]{3} ?[0-9]{3} ?[0-9]{3}"),
    _telling("BE", "be.nn", r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}"),
    _Number("BE", "be.nn", r"[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{3} ?[0-9]{2}"),
    _Number("BG", "bg.egn", r"[0-9]{10}"),
    _telling("BR", "br.cpf", r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}"),
    _Number("BR", "br.cpf", r"[0-9]{9}-?[0-9]{2}"),
    _Number("CA", "ca.sin", r"[0-9]{3}[- ]?[0-9]{3}[- ]?[0-9]{3}"),
    _telling("CH", "ch.ssn", r"756[. ]?[0-9]{4}[. ]?[0-9]{4}[. ]?[0-9]{2}"),
    _telling("CL", "cl.rut", r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9K]"),
    _Number("CL", "cl.rut", r"[0-9]{7,8}-[0-9K]"),
    _telling("CN", "cn.ric", r"[0-9]{17}[0-9X]"),
    _telling("CZ", "cz.rc", r"[0-9]{6}/[0-9]{3,4}"),
    _Number("DE", "de.idnr", r"[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}"),
    _Number("DK", "dk.cpr", r"[0-9]{6}[- ]?[0-9]{4}"),
    _telling("DO", "do.cedula", r"[0-9]{3}-[0-9]{7}-[0-9]"),
    _Number("EC", "ec.ci", r"[0-9]{9}-?[0-9]"),
    _Number("EE", "ee.ik", r"[0-9]{11}"),
    _telling("ES", "es.dni", r"[0-9]{8}-?[A-Z]"),
    _telling("ES", "es.nie", r"[XYZ]-?[0-9]{7}-?[A-Z]"),
    _telling("FI", "fi.hetu", r"[0-9]{6}[-+A-FU-Y][0-9]{3}[0-9A-Z]"),
    _telling("FR", "fr.nir", r"[0-9] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}"),
    _Number("FR", "fr.nif", r"[0-3][0-9] ?[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}"),
    _telling("GB", "", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]"),  # no check digit to check
    _Number("GB", "gb.nhs", r"[0-9]{3}[- ]?[0-9]{3}[- ]?[0-9]{4}"),
    _Number("GR", "gr.amka", r"[0-9]{11}"),
    _Number("HR", "hr.oib", r"[0-9]{11}"),
    _Number("ID", "id.nik", r"[0-9]{16}"),
    _telling("IE", "ie.pps", r"[0-9]{7}[A-W][A-IW]?"),
    _Number("IL", "il.idnr", r"[0-9]{8}-?[0-9]"),
    _Number("IN", "in_.aadhaar", r"[2-9][0-9]{3}[- ]?[0-9]{4}[- ]?[0-9]{4}"),
    _telling("IN", "in_.pan", r"[A-Z]{5}[0-9]{4}[A-Z]"),
    _Number("IS", "is_.kennitala", r"[0-9]{6}-?[0-9]{4}"),
    _telling("IT", "it.codicefiscale", r"[A-Z]{6}[0-9LMNP-V]{2}[A-EHLMPR-T][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]"),
    _Number("JP", "jp.in_", r"[0-9]{4}[- ]?[0-9]{4}[- ]?[0-9]{4}"),
    _telling("KR", "kr.rrn", r"[0-9]{6}-[0-9]{7}"),
    _Number("LT", "lt.asmens", r"[0-9]{11}"),
    _telling("MX", "mx.curp", r"[A-Z]{4}[0-9]{6}[A-Z]{6}[0-9A-Z][0-9]"),
    _telling("MY", "my.nric", r"[0-9]{6}-[0-9]{2}-[0-9]{4}"),
    _Number("NL", "nl.bsn", r"[0-9]{4}[. ]?[0-9]{2}[. ]?[0-9]{3}"),
    _Number("NO", "no.fodselsnummer", r"[0-9]{6} ?[0-9]{5}"),
    _Number("NZ", "nz.ird", r"[0-9]{2,3}-?[0-9]{3}-?[0-9]{3}"),
    _telling("PK", "pk.cnic", r"[0-9]{5}-[0-9]{7}-[0-9]"),
    _Number("PL", "pl.pesel", r"[0-9]{11}"),
    _telling("PT", "pt.cc", r"[0-9]{8} ?[0-9] ?(?:[A-Z][0-9A-Z]|[0-9][A-Z])[0-9]"),
    _Number("RO", "ro.cnp", r"[0-9]{13}"),
    _Number("RU", "ru.inn", r"[0-9]{12}"),
    _Number("SE", "se.personnummer", r"(?:[0-9]{2})?[0-9]{6}[-+]?[0-9]{4}"),
    _Number("SI", "si.emso", r"[0-9]{13}"),
    _telling("SK", "sk.rc", r"[0-9]{6}/[0-9]{3,4}"),
    _telling("TH", "th.pin", r"[0-9]-[0-9]{4}-[0-9]{5}-[0-9]{2}-[0-9]"),
    _Number("TH", "th.pin", r"[0-9]{13}"),
    _Number("TR", "tr.tckimlik", r"[0-9]{11}"),
    _Number("UA", "ua.rntrc", r"[0-9]{10}"),
    _Number("ZA", "za.idnr", r"[0-9]{6} ?[0-9]{4} ?[0-9]{2} ?[0-9]"),
)


def national_ids(regions: Collection[str], kinds: Collection[str]) -> tuple[Shaped, ...]:
    """Those whose shape tells them from other numbers, and those of the regions that are digits and no more."""
    wanted = [one for one in _NUMBERS if one.kind in kinds and (one.telling or one.region in regions)]
    return tuple(Shaped(one.kind, one.shape, _test(one.module)) for one in wanted)


def _test(module: str) -> Callable[[str], bool]:
    if not module:
        return lambda text: True
    checked = cast(Callable[[str], bool], import_module(f"stdnum.{module}").is_valid)

    def is_valid(text: str) -> bool:
        try:
            return checked(text)
        except Exception:  # some stumble over a district or a month that does not exist, instead of saying so
            return False

    # stdnum takes a hyphen where people also write a space
    return lambda text: is_valid(text) or (" " in text and is_valid(text.replace(" ", "-")))
