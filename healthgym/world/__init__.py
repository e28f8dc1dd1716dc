"""Patients and what happens to them: frozen charts, copy-on-write state, a clock, orders and a patient who answers."""

from healthgym.world.chart import Allergy, Chart, Event, Finding, LabResult, Medication, Persona, Sex, Study, VitalSigns
from healthgym.world.orders import Order
from healthgym.world.patient import Answer, Exchange, Patient, SimulatedPatient
from healthgym.world.state import State
from healthgym.world.world import ExecutedCall, Fact, Services, World

__all__ = [
    "Allergy",
    "Answer",
    "Chart",
    "Event",
    "Exchange",
    "ExecutedCall",
    "Fact",
    "Finding",
    "LabResult",
    "Medication",
    "Order",
    "Patient",
    "Persona",
    "Services",
    "Sex",
    "SimulatedPatient",
    "State",
    "Study",
    "VitalSigns",
    "World",
]
