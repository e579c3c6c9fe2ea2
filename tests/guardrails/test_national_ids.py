"""Numbers that a state gives its people (6.3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm4s_notebook.guardrails import PiiSpan
from llm4s_notebook.guardrails._pii._national_id import _NUMBERS, _test
from llm4s_notebook.guardrails._pii._recognizer import Shaped

from .support import found

SAMPLES = {
    "": ["AB123456C", "AB 12 34 56 C"],
    "ar.cuit": ["20-05536168-2"],
    "at.vnr": ["1237 010180"],
    "au.tfn": ["123 456 782"],
    "be.nn": ["85.07.30-033.28", "85 07 30 033 28", "85073003328"],
    "bg.egn": ["8032056031"],
    "br.cpf": ["390.533.447-05", "39053344705"],
    "ca.sin": ["123-456-782", "123 456 782"],
    "ch.ssn": ["756.9217.0769.85", "7569217076985"],
    "cl.rut": ["12.531.909-2", "12531909-2"],
    "cn.ric": ["360426199101010071"],
    "cz.rc": ["710319/2745"],
    "de.idnr": ["36 574 261 809", "36574261809"],
    "dk.cpr": ["211062-5629"],
    "do.cedula": ["001-1391820-5"],
    "ec.ci": ["171430710-3"],
    "ee.ik": ["36805280109"],
    "es.dni": ["54362315-K", "54362315k"],
    "es.nie": ["X-2482300W"],
    "fi.hetu": ["131052-308T"],
    "fr.nif": ["3023217600053"],
    "fr.nir": ["2 95 10 99 126 111 93", "253072B07300470"],
    "gb.nhs": ["943-476-5870", "943 476 5870"],
    "gr.amka": ["01013099997"],
    "hr.oib": ["33392005961"],
    "id.nik": ["3171011708450001"],
    "ie.pps": ["6433435OA", "6433435F"],
    "il.idnr": ["039337423"],
    "in_.aadhaar": ["2341 2341 2346"],
    "in_.pan": ["ACUPA7085R"],
    "is_.kennitala": ["120174-3399"],
    "it.codicefiscale": ["RSSMRA85T10A562S"],
    "jp.in_": ["6214 9832 0257"],
    "kr.rrn": ["971013-9019902"],
    "lt.asmens": ["33309240064"],
    "mx.curp": ["BOXW310820HNERXN09"],
    "my.nric": ["770305-02-1234"],
    "nl.bsn": ["111222333", "1112.22.333"],
    "no.fodselsnummer": ["151086 95088"],
    "nz.ird": ["49-098-576"],
    "pk.cnic": ["34201-0891231-8"],
    "pl.pesel": ["44051401359"],
    "pt.cc": ["00000000 0 ZZ4"],
    "ro.cnp": ["1630615123457"],
    "ru.inn": ["123456789047"],
    "se.personnummer": ["880320-0016", "8803200016"],
    "si.emso": ["0101006500006"],
    "sk.rc": ["710319/2745"],
    "th.pin": ["1-2345-45678-78-1", "3100600445635"],
    "tr.tckimlik": ["17291716060"],
    "ua.rntrc": ["1759013776"],
    "us.itin": ["912-90-3456"],
    "us.ssn": ["536-90-4399", "536 90 4399"],
    "za.idnr": ["7503305044089"],
}


@pytest.mark.parametrize("number", _NUMBERS, ids=lambda one: f"{one.region}-{one.module}")
def test_every_sort_of_national_id_is_found_where_it_is_looked_for(number: Any):
    """6.3: those that are digits and no more only in the regions given."""
    recognizer = Shaped(number.kind, number.shape, _test(number.module))
    mine = [sample for sample in SAMPLES[number.module] if [*recognizer.find(sample)] == [PiiSpan(0, len(sample), number.kind)]]
    assert mine
    for sample in mine:
        text = f"id {sample}."
        assert found(text, kinds=number.kind, regions=number.region) == [(number.kind, sample)]
        assert bool(found(text, kinds=number.kind, regions="US")) is (number.telling or number.region == "US"), sample


@pytest.mark.parametrize("number", _NUMBERS, ids=lambda one: f"{one.region}-{one.module}")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_number_makes_the_library_stumble(number: Any, data: Any):
    """A fault of `stdnum` on a number that cannot be is no fault of the text."""
    text = data.draw(st.from_regex(number.shape, fullmatch=True))
    assert _test(number.module)(text) in (True, False)
