"""The conditions at which a task runs molecular dynamics: temperatures and length, as parameters and data set state."""

from __future__ import annotations

from scoring.choice_sums import SimulatedRuns
from tasks.dynamics.simulate import DynamicsSettings
from tasks.kind import Parameters
from tasks.kinds.nve import NveParameters
from tasks.structures.frames import Float

FS_PER_NS = 1e6


def run_conditions(parameters: Parameters, baths: Float | None, *, hidden: bool) -> SimulatedRuns | None:
    """The conditions of a task's runs; None if it runs no dynamics.

    Args:
        baths: (n,) temperatures [K] that the data set states of its structures; None: it leaves them to the task.
        hidden: whether the data set is hidden: then its own temperatures are not public.
    """
    if not isinstance(parameters, DynamicsSettings | NveParameters):
        return None
    temperatures: tuple[float, float] | None
    if baths is not None and isinstance(parameters, DynamicsSettings):
        temperatures = None if hidden else (float(baths.min()), float(baths.max()))
    else:
        ends = [parameters.temperature_k, getattr(parameters, "end_temperature_k", None) or parameters.temperature_k]
        temperatures = min(ends), max(ends)
    return SimulatedRuns(temperatures, parameters.steps * parameters.timestep_fs / FS_PER_NS)
