"""System calls by another ABI than the machine's own: a filter that looks at one ABI alone does not see them.

On x86-64 these are `int 0x80` (the calls of i386), the calls of x32, and a program for i386. On aarch64 it is a program
for 32-bit ARM.
"""

import ctypes
import mmap
import os
import platform
import struct
import subprocess

from report import reported

EXIT_STATUS = 42
NATIVE = {
    "x86_64": bytes.fromhex("b827000000 0f05 c3"),  # mov eax, 39 (getpid); syscall; ret
    "aarch64": struct.pack("<III", 0xD2801588, 0xD4000001, 0xD65F03C0),  # mov x8, 172 (getpid); svc 0; ret
}
FOREIGN = {
    "x86_64": (
        bytes.fromhex("b814000000 cd80 c3"),  # mov eax, 20 (getpid of i386); int 0x80; ret
        # mov eax, 359 (socket of i386); mov ebx, 40 (AF_VSOCK); mov ecx, 1; xor edx, edx; int 0x80; ret
        bytes.fromhex("53 b867010000 bb28000000 b901000000 31d2 cd80 5b c3"),
        bytes.fromhex("b827000040 0f05 c3"),  # mov eax, 0x40000027 (getpid of x32); syscall; ret
    ),
    "aarch64": (),
}
# Machine and flags of the ELF header, and code that exits with `EXIT_STATUS`.
PROGRAM = {
    "x86_64": (3, 0, bytes.fromhex("b801000000 bb2a000000 cd80")),  # mov eax, 1; mov ebx, 42; int 0x80
    "aarch64": (
        40,
        0x05000000,
        struct.pack("<III", 0xE3A0002A, 0xE3A07001, 0xEF000000),
    ),  # mov r0, 42; mov r7, 1; svc 0
}


@reported
def other_abi(*_):
    """First how a call of the machine's own ABI ends, then those of the others."""
    machine = platform.machine()
    calls = [ended(code) for code in (NATIVE[machine], *FOREIGN[machine])]
    return (*calls, program_ended(machine))


def ended(code):
    """How machine code ends in a child: 0 if its call was answered, else the error number; minus a signal's number."""
    pid = os.fork()
    if pid == 0:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        answer = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
        os._exit(min(max(-answer, 0), 255))
    status = os.waitpid(pid, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def program_ended(machine):
    """As `ended`, for a 32-bit program without any library."""
    number, flags, code = PROGRAM[machine]
    base, headers = 0x10000, 52 + 32
    start = b"\x7fELF\x01\x01\x01" + bytes(9)
    start += struct.pack("<HHIIIIIHHHHHH", 2, number, 1, base + headers, 52, 0, flags, 52, 32, 1, 0, 0, 0)
    size, read_run = headers + len(code), 5
    start += struct.pack("<8I", 1, 0, base, base, size, size, read_run, 0x1000)
    with open("/tmp/program32", "wb") as file:
        file.write(start + code)
    os.chmod("/tmp/program32", 0o755)
    try:
        status = subprocess.run(["/tmp/program32"], check=False).returncode
    except OSError as error:
        return error.errno
    return 0 if status == EXIT_STATUS else status
