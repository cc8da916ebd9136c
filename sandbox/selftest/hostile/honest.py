"""The honest image: it compiles a C function in /tmp, loads it and calls it, as Triton, Inductor and numba do.

Where the image has a C compiler (cc, gcc, clang or tcc), that compiles. The base for authors has none; then the shared
object is put together here, byte by byte, from the function's machine code: the loader maps it from /tmp all the same.
Either way a program, copied to /tmp, is run from there too.
"""

import ctypes
import platform
import shutil
import struct
import subprocess

from report import reported

SOURCE = "double twice(double x) { return x + x; }\n"
MACHINE = {
    "x86_64": (62, bytes.fromhex("f20f58c0c3")),  # addsd xmm0, xmm0; ret
    "aarch64": (183, struct.pack("<II", 0x1E602800, 0xD65F03C0)),  # fadd d0, d0, d0; ret
}
PAGE = 0x10000  # the largest that aarch64 may have
DYNAMIC, HASH, SYMBOLS, STRINGS, CODE = PAGE, 0x100, 0x140, 0x180, 0x1C0


@reported
def compiles(x, *_):
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "tcc"))), None)
    if compiler:
        with open("/tmp/twice.c", "w") as file:
            file.write(SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", "/tmp/twice.so", "/tmp/twice.c"], check=True)
    else:
        with open("/tmp/twice.so", "wb") as file:
            file.write(shared_object())
    twice = ctypes.CDLL("/tmp/twice.so").twice
    twice.argtypes, twice.restype = [ctypes.c_double], ctypes.c_double
    shutil.copy("/bin/true", "/tmp/program")
    return twice(x), subprocess.run(["/tmp/program"], check=False).returncode, compiler is not None


def shared_object():
    """An ELF file with the function `twice`: one page to run, one page for the loader's table."""
    number, code = MACHINE[platform.machine()]
    names = b"\0twice\0"
    tables = {
        HASH: struct.pack("<5I", 1, 2, 1, 0, 0),  # one bucket, which holds symbol 1 of 2
        SYMBOLS: bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, CODE, len(code)),  # a global function
        STRINGS: names,
        CODE: code,
    }
    # DT_HASH, DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_SYMENT, DT_NULL
    entries = [(4, HASH), (6, SYMBOLS), (5, STRINGS), (10, len(names)), (11, 24), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    read_run, read_write = 5, 6
    headers = (
        segment(1, read_run, 0, CODE + len(code), PAGE),
        segment(1, read_write, DYNAMIC, len(dynamic), PAGE),
        segment(2, read_write, DYNAMIC, len(dynamic), 8),
    )
    start = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 3, number, 1)
    start += struct.pack("<QQQIHHHHHH", 0, 64, 0, 0, 64, 56, len(headers), 64, 0, 0)
    image = bytearray(DYNAMIC) + dynamic
    image[:64] = start
    image[64 : 64 + 56 * len(headers)] = b"".join(headers)
    for offset, table in tables.items():
        image[offset : offset + len(table)] = table
    return bytes(image)


def segment(kind, flags, offset, size, align):
    return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, size, size, align)
