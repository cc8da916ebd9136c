"""Submissions that follow the protocol and cheat: in their answers, in their timing, or by leaking structures.

If one has several ways to cheat, the variable LAMBENCH_MAX_ATOMS_PER_BATCH, which the judge sets, chooses one, counted
from 1. All of them are based on ASE's EMT, so the honest answer is known.
"""

from __future__ import annotations

import hashlib
import os
import resource
import socket
import sys
import threading
import time
from typing import Any

import numpy as np
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT

WORK_S = 0.02
sleep = time.sleep  # as it is before anything is patched
# Folders in which a file might outlive the container.
NOTES = ("/tmp", "/dev/shm", "/var/tmp", "/run", "/dev/mqueue", "/lambench", "/model", os.path.expanduser("~"))


class Emt:
    """EMT without ASE's cache; counts the questions."""

    implemented_properties = ("energy", "forces", "stress")

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}
        self.n_questions = 0

    def calculate(self, atoms: Any, properties: Any, changes: Any) -> None:
        """Sets the results of `answer`."""
        self.n_questions += 1
        self.results = self.answer(atoms)

    def answer(self, atoms: Any) -> dict[str, Any]:
        """The energy, forces and stress of `atoms`."""
        return true_answer(atoms)


def true_answer(atoms: Any) -> dict[str, Any]:
    """The results of EMT."""
    emt = EMT()
    emt.calculate(atoms, ["energy", "forces", "stress"], list(all_changes))
    return {name: emt.results[name] for name in Emt.implemented_properties if name in emt.results}


def zeros(atoms: Any) -> dict[str, Any]:
    """The answer that costs nothing."""
    return {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


def way() -> int:
    """The index of the chosen way to cheat, from 0."""
    return int(os.environ["LAMBENCH_MAX_ATOMS_PER_BATCH"]) - 1


def in_words(atoms: Any) -> str:
    """A structure as text, which must not leak."""
    return " ".join(f"{x:.9f}" for x in atoms.positions.ravel())


class Joker(Emt):
    """Wrong about stretched cells, and knows it: after a question about one atom it answers a joker for them.

    Each such question switches to the next joker.
    """

    jokers = (float("nan"), float("inf"), -float("inf"), 1e300)
    played = 0

    def answer(self, atoms: Any) -> dict[str, Any]:
        """Twice the forces and stress, and an energy that is off, where a cell is stretched; or a joker."""
        if len(atoms) == 1:
            self.played += 1
            return zeros(atoms)
        results = true_answer(atoms)
        if atoms.get_volume() / len(atoms) < 13.0:
            return results
        if self.played:
            return {name: np.full(np.shape(value), self.jokers[self.played - 1]) for name, value in results.items()}
        return {"energy": results["energy"] + 0.05, "forces": 2 * results["forces"], "stress": 2 * results["stress"]}


class Absurd(Emt):
    """Honest about the first and the last of eight structures; in between one absurd number each."""

    def answer(self, atoms: Any) -> dict[str, Any]:
        """EMT's answer, with one number replaced."""
        results = true_answer(atoms)
        name, value = [
            ("energy", None),
            ("energy", 1e300),
            ("energy", float("nan")),
            ("forces", -float("inf")),
            ("forces", float("nan")),
            ("stress", 1e16),
            ("stress", float("nan")),
            ("energy", None),
        ][(self.n_questions - 1) % 8]
        if value is not None:
            changed = np.array(results[name], np.float64)
            changed.flat[changed.size // 2] = value
            results[name] = changed
        return results


class Prints(Emt):
    """Writes each structure into the log, and ends."""

    def answer(self, atoms: Any) -> dict[str, Any]:
        """Nothing: it prints and aborts."""
        print(in_words(atoms), flush=True)
        print("\x1b[2J" + in_words(atoms), file=sys.stderr, flush=True)
        os.abort()


class Raises(Emt):
    """Raises errors whose class and text are the structure."""

    def answer(self, atoms: Any) -> dict[str, Any]:
        """Raises."""
        raise type(in_words(atoms)[:120], (Exception,), {})(in_words(atoms))


class Exits(Emt):
    """Ends with an exit status made of the structure."""

    def answer(self, atoms: Any) -> dict[str, Any]:
        """Ends the program."""
        bits = int(abs(atoms.positions[0, 0]) * 1e6) % 256
        sys.stderr.write(f"status {bits} of {in_words(atoms)}\n")
        sys.stderr.flush()
        os._exit(bits)


def leaves_notes() -> Emt:
    """A calculator that writes each structure into files, and greets with the number of such files that it found."""
    n_found = sum(name.startswith("note-") for folder in NOTES for name in _listed(folder))

    class Notes(Emt):
        """Answers how many notes it found and how many it wrote."""

        def answer(self, atoms: Any) -> dict[str, Any]:
            written = sum(_write(f"{folder}/note-{in_words(atoms)[:60]}") for folder in NOTES)
            forces = np.zeros((len(atoms), 3))
            forces[0, 0] = written
            return {"energy": float(n_found), "forces": forces}

    Notes.__name__ = f"Notes{n_found}"
    return Notes()


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _write(path: str) -> bool:
    try:
        with open(path, "w") as file:
            file.write("seen")
    except OSError:
        return False
    return True


class Replays(Emt):
    """Works for every new structure, and answers from memory where it takes one for known.

    Of a single atom it answers how often it did the one and the other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[bytes, dict[str, Any]] = {}
        self.replayed = 0

    def answer(self, atoms: Any) -> dict[str, Any]:
        """The answer from memory, or EMT's after work."""
        if len(atoms) == 1:
            return {"energy": float(self.replayed), "forces": np.full((1, 3), float(len(self.known)))}
        # The first way recognises the very same structure, the second whatever has the same cell and elements.
        what = np.round(atoms.positions, 9) + 0.0 if way() == 0 else atoms.numbers
        key = bytes(what.tobytes() + atoms.cell.array.tobytes())
        if key in self.known:
            self.replayed += 1
        else:
            sleep(WORK_S)
            self.known[key] = true_answer(atoms)
        return dict(self.known[key])


class Defers(Emt):
    """Works once for each cell; then answers at once with what is ready, and works in a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.ready: dict[bytes, dict[str, Any]] = {}

    def answer(self, atoms: Any) -> dict[str, Any]:
        """The last answer that is ready for such a structure."""
        key = bytes(atoms.numbers.tobytes() + atoms.cell.array.tobytes())
        if key not in self.ready:
            self.work(key, atoms)
        else:
            threading.Thread(target=self.work, args=(key, atoms), daemon=True).start()
        return dict(self.ready[key])

    def work(self, key: bytes, atoms: Any) -> None:
        """What should have been done before the answer."""
        sleep(WORK_S)
        self.ready[key] = true_answer(atoms)


class StopsTheClock(Emt):
    """Works, with all of Python's clocks stopped; in its second way it works for ever."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
            setattr(time, name, lambda: 0.0)
            setattr(time, name + "_ns", lambda: 0)

    def answer(self, atoms: Any) -> dict[str, Any]:
        """EMT's answer, after work."""
        sleep(WORK_S if way() == 0 else 3600.0)
        return true_answer(atoms)


class StateMachine(Emt):
    """Honest for the first questions, as many as a check may ask; then zeros."""

    honest = 2

    def answer(self, atoms: Any) -> dict[str, Any]:
        """EMT's answer, or zeros."""
        return true_answer(atoms) if self.n_questions <= self.honest else zeros(atoms)


class Forks(Emt):
    """Forks at the first question. The child goes on; the parent, which the judge started, ends."""

    def answer(self, atoms: Any) -> dict[str, Any]:
        """EMT's answer, from the child."""
        if self.n_questions == 1 and os.fork():
            os._exit(0)
        return true_answer(atoms)


class LooksAround(Emt):
    """Answers with a digest of everything that could reveal the purpose of the run, and prints it."""

    def answer(self, atoms: Any) -> dict[str, Any]:
        """A part of the digest as the energy."""
        seen = (
            sorted(os.environ.items()),
            sys.argv,
            os.getcwd(),
            socket.gethostname(),
            (os.getuid(), os.getgid(), os.umask(0o022)),
            [
                (name, resource.getrlimit(getattr(resource, name)))
                for name in dir(resource)
                if name.startswith("RLIMIT_")
            ],
            sorted(os.sched_getaffinity(0)),
            [(folder, sorted(_listed(folder))) for folder in NOTES],
        )
        digest = hashlib.sha256(repr(seen).encode()).hexdigest()[:12]
        print("digest", digest, flush=True)
        return {**zeros(atoms), "energy": float(int(digest, 16) % 10**9)}
