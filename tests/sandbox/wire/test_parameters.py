"""The guest counts the parameters of the calculator: each once, within bounds, and without harm to the calculator."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.guest import parameters
from sandbox.guest.parameters import count_parameters
from sandbox.guest.wire import WireError
from sandbox.limits import Limits
from sandbox.wire.hello import read_hello
from sandbox.wire.session import run_session
from submissions import records

# A replacement of PyTorch, with the few names that the guest uses.
FAKE_TORCH = """
class nn:
    class Module:
        def __init__(self, *sizes, own=()):
            self.own = [Parameter(n) for n in sizes] + list(own)
        def parameters(self):
            return iter(self.own)

class cuda:
    is_available = staticmethod(lambda: False)

class Parameter:
    def __init__(self, n):
        self.n = n
    def numel(self):
        return self.n
    def data_ptr(self):
        return id(self)
"""


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType("torch")
    exec(FAKE_TORCH, vars(module))
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_each_parameter_is_counted_once_wherever_it_is_held(torch: Any) -> None:
    shared = torch.nn.Module(100)
    held = SimpleNamespace(model=shared, others={"b": [torch.nn.Module(20), (torch.nn.Module(3, own=shared.own),)]})
    held.itself = held
    assert count_parameters(SimpleNamespace(inner=held, again=shared)) == 123


@pytest.mark.parametrize("source", ["nothing", "no numbers", "too deep", "too many"])
def test_where_nothing_can_be_said_nothing_is(torch: Any, source: str) -> None:
    deep = torch.nn.Module(5)
    for _ in range(parameters.MAX_DEPTH + 1):
        deep = [deep]
    many = [torch.nn.Module(5), *([] for _ in range(parameters.MAX_OBJECTS))]
    held = {"nothing": 1, "no numbers": torch.nn.Module(), "too deep": deep, "too many": many}
    assert count_parameters(SimpleNamespace(held=held[source])) is None


def test_without_torch_there_is_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert count_parameters(SimpleNamespace(model=1)) is None


def test_objects_that_fail_when_they_are_looked_at_and_absurd_sizes_are_no_fault(torch: Any) -> None:
    class Trap(torch.nn.Module):
        def parameters(self) -> None:
            raise ValueError("not now")

    assert count_parameters(Trap()) is None
    assert count_parameters(torch.nn.Module(10**15 + 1)) is None
    assert count_parameters(torch.nn.Module(10**15)) == 10**15


def test_the_time_for_it_is_bounded(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "MAX_S", -1.0)
    assert count_parameters(SimpleNamespace(model=torch.nn.Module(5))) is None


@pytest.mark.parametrize("stated", ["-1", str(10**15 + 1), "1e3", "", "9" * 5000, "many"])
def test_a_hello_with_an_impossible_number_is_refused(stated: str) -> None:
    with pytest.raises(WireError, match="malformed"):
        read_hello({"properties": "energy", "n_parameters": stated})


def test_a_hello_may_leave_the_number_out() -> None:
    assert read_hello({"properties": "energy"}).n_parameters is None
    assert read_hello({"properties": "energy", "n_parameters": "0"}).n_parameters == 0
    assert parameters.MAX_PARAMETERS == records.MAX_PARAMETERS


def greeted(driver: ProcessDriver | DockerDriver, reference: str) -> int | None:
    outcome = run_session(driver, driver.resolve(reference), Limits(startup_s=120), Question(), lambda remote: None)
    assert outcome.hello is not None, outcome
    return outcome.hello.n_parameters


def submission(folder: Path, factory: str) -> str:
    (folder / "torch.py").write_text(FAKE_TORCH)
    (folder / "calculator.py").write_text(f"from ase.calculators.emt import EMT\n{factory}\n    return emt\n")
    return str(folder)


TWO_MODELS = (
    "import torch\ndef make_calculator():\n    emt = EMT()\n    emt.models = [torch.nn.Module(7), torch.nn.Module(4)]"
)
NO_TORCH = "def make_calculator():\n    emt = EMT()"


@pytest.mark.parametrize(("factory", "counted"), [(TWO_MODELS, 11), (NO_TORCH, None)])
def test_the_hello_of_a_submission_has_it(
    tmp_path: Path, process_driver: ProcessDriver, factory: str, counted: int | None
) -> None:
    assert greeted(process_driver, submission(tmp_path, factory)) == counted


@pytest.mark.soak
@pytest.mark.docker
def test_the_parameters_of_a_pretrained_model_are_those_that_it_is_published_with(docker_driver: DockerDriver) -> None:
    assert greeted(docker_driver, "lambench/chgnet:latest") == 412_525
