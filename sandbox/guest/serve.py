"""The guest: loads the author's calculator, connects to the judge once, and answers until the judge leaves."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import platform
import socket
import sys
from importlib import metadata as package_metadata
from typing import Any, Dict, Mapping, Tuple

import ase
import numpy as np

from .ase_loop import AseLoop
from .failures import describe
from .parameters import count_parameters
from .start import send_failure
from .states import INPUTS
from .tracebacks import FirstErrors, print_error
from .wire import PROTOCOL, Channel, Closed, Header, pack_header, parse_header, read_arrays

MAX_REQUEST_HEADER = 1 << 16
MAX_REQUEST_BYTES = 1 << 34
REMEMBERED_HEADERS = 256
REPORTED_MODULES = ("torch", "jax", "tensorflow", "tblite", "e3nn", "torch_sim", "scipy")


def load_calculator(environment: Mapping[str, str]) -> Tuple[Any, str]:
    """The author's calculator, and the `module:factory` that made it.

    The factory gets those of the keywords `device`, `domain`, `label_set` and `model_dir` that it accepts.
    """
    name = environment["LAMBENCH_CALCULATOR"]
    module_name, _, factory_name = name.partition(":")
    sys.path.insert(0, os.getcwd())
    factory = find_factory(module_name, factory_name)
    offered = {
        "device": environment.get("LAMBENCH_DEVICE", "cpu"),
        "domain": environment.get("LAMBENCH_DOMAIN") or None,
        "label_set": environment.get("LAMBENCH_LABEL_SET") or None,
        "model_dir": environment.get("LAMBENCH_MODEL_DIR") or os.getcwd(),
    }
    parameters = inspect.signature(factory).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        accepted = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
        offered = {key: value for key, value in offered.items() if key in accepted}
    return factory(**offered), name


class LabelError(Exception):
    """The label names nothing that can be called."""


def find_factory(module_name: str, factory_name: str) -> Any:
    """What the label names.

    Raises:
        LabelError: there is no such module, or nothing of that name in it that can be called.
    """
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name + ".").startswith(error.name + "."):
            here = ", ".join(sorted(os.listdir("."))[:10]) or "nothing"
            raise LabelError("no module %r; %s has %s" % (module_name, os.getcwd(), here)) from None
        raise
    if not hasattr(module, factory_name):
        names = ", ".join(name for name, held in sorted(vars(module).items()) if inspect.isfunction(held))
        raise LabelError("no factory %r in %r; its functions: %s" % (factory_name, module_name, names[:200] or "none"))
    factory = getattr(module, factory_name)
    if not callable(factory):
        kind = type(factory).__name__
        raise LabelError("not callable: %s in %r is a %s" % (factory_name, module_name, kind))
    return factory


def hello(loop: AseLoop, name: str) -> Dict[str, str]:
    """What the judge is told of the calculator, as strings."""
    torch = sys.modules.get("torch")
    device = torch.cuda.get_device_name(0) if torch is not None and torch.cuda.is_available() else "cpu"
    elements = getattr(loop.calculator, "elements", None)
    known = elements if isinstance(elements, (list, tuple, set, frozenset)) else ()
    numbers = sorted({int(z) for z in known if isinstance(z, (int, np.integer))})
    n_parameters = count_parameters(loop.calculator)
    counted = {} if n_parameters is None else {"n_parameters": str(n_parameters)}
    return {
        **counted,
        **further(loop),
        "op": "hello",
        "protocol": PROTOCOL,
        "calculator": "%s (%s)" % (name, type(loop.calculator).__name__),
        "properties": ",".join(loop.properties),
        "batch": "true" if loop.batches else "false",
        "max_atoms_per_batch": str(loop.max_atoms_per_batch if loop.max_atoms_per_batch < 1 << 40 else 0),
        "elements": ",".join(map(str, numbers)),
        "device": device,
        "versions": json.dumps(versions()),
    }


def further(loop: AseLoop) -> Dict[str, str]:
    """What else the judge may send and ask for: arrays of structures, outputs, and the members of a committee."""
    stated = {"inputs": ",".join(INPUTS), "costs": "true"}
    if loop.offered:
        stated["further"] = ",".join(loop.offered)
    if loop.members:
        stated["members"] = str(loop.members)
    return stated


def versions() -> Dict[str, str]:
    """Versions of Python, numpy, ASE and of the frameworks that the calculator loaded."""
    found = {"python": platform.python_version(), "numpy": np.__version__, "ase": ase.__version__}
    for module in REPORTED_MODULES:
        if module in sys.modules:
            try:
                found[module] = package_metadata.version(module.replace("_", "-"))
            except package_metadata.PackageNotFoundError:
                found[module] = "unknown"
    return found


class Server:
    """Answers the judge's messages, remembering the headers that it has read and built."""

    def __init__(self, channel: Channel, loop: AseLoop) -> None:
        self._channel = channel
        self._loop = loop
        self._read: Dict[bytes, Header] = {}
        self._packed: Dict[Any, bytes] = {}
        self._told_asymmetry = 0.0

    def serve(self) -> None:
        """Answers until the judge says bye or closes the connection."""
        while True:
            try:
                message = self._channel.receive(MAX_REQUEST_HEADER, MAX_REQUEST_BYTES)
            except Closed:
                return
            header = self._read.get(message.header)
            if header is None:
                header = parse_header(message.header, len(message.payload) - message.data_start)
                remember(self._read, message.header, header)
            arrays = read_arrays(message, header)
            op = header.metadata["op"]
            if op == "compute":
                self._compute(arrays, header.metadata)
            elif op == "echo":
                out = [("id", arrays["id"]), ("bytes", arrays["bytes"])]
                self._channel.send(pack_header(out, {"op": "echo"}), [array for _, array in out])
            else:
                return

    def _compute(self, arrays: Dict[str, Any], metadata: Dict[str, str]) -> None:
        properties, further, costs = metadata["properties"], metadata.get("further", ""), "costs" in metadata
        loop = self._loop
        result = loop.compute(arrays, properties.split(","), further.split(",") if further else (), costs)
        out = [("id", arrays["id"]), ("energy", result.energy)]
        if result.forces is not None:
            out.append(("forces", result.forces))
        if result.stress is not None:
            out.append(("stress", result.stress))
        out.append(("status", result.status))
        out.extend(result.further.items())
        if result.costs is not None:
            out.append(("costs", result.costs.array))
        stated = {"op": "result"}
        if result.failures:
            stated["failures"] = json.dumps([list(f) for f in result.failures])
        if loop.changed:
            stated["changed"], loop.changed = loop.changed, ""
        if loop.stress_asymmetry > self._told_asymmetry:
            stated["stress_asymmetry"], self._told_asymmetry = repr(loop.stress_asymmetry), loop.stress_asymmetry
        if len(stated) > 1:
            packed = pack_header(out, stated)
        else:
            key = (properties, further, costs, len(arrays["n_atoms"]), len(arrays["numbers"]))
            packed = self._packed.get(key, b"")
            if not packed:
                packed = pack_header(out, stated)
                remember(self._packed, key, packed)
        self._channel.send(packed, [array for _, array in out])


def remember(cache: Dict[Any, Any], key: Any, value: Any) -> None:
    """Keeps `value`, and not too many others."""
    if len(cache) >= REMEMBERED_HEADERS:
        cache.clear()
    cache[key] = value


def connect(path: str) -> Channel:
    """The connection to the judge, which listens at `path`."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(path)
    return Channel(sock)


def main() -> int:
    """Exit status 0 when the judge left, 3 when the calculator could not be loaded."""
    try:
        calculator, name = load_calculator(os.environ)
        most = int(os.environ.get("LAMBENCH_MAX_ATOMS_PER_BATCH", "0"))
        loop = AseLoop(calculator, most, os.environ.get("LAMBENCH_DOMAIN", ""))
        if "energy" not in loop.properties:
            raise TypeError("implemented_properties has no energy")
        loop.on_error = FirstErrors()
        loop.errors = (BaseException,)  # whatever the author's code raises, this process goes on
    except BaseException as error:  # whatever the author's code raised at import is what the author must be told
        print_error(error)
        failure = describe(error)
        send_failure(failure.kind, failure.text, failure.cause)
        return 3
    channel = connect(os.environ["LAMBENCH_SOCKET"])
    channel.send(pack_header([], hello(loop, name)), [])
    Server(channel, loop).serve()
    return 0
