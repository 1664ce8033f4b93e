"""Build the compiled core. Everything else is declared in pyproject.toml."""

import os

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup

Options.warning_errors = True

TRACE = os.environ.get("DATAPATH_CYTHON_TRACE") == "1"  # line coverage of the .pyx files
SANITIZE = os.environ.get("DATAPATH_SANITIZE") == "1"  # AddressSanitizer and UBSan, for `make fuzz`

DIRECTIVES = {
    "language_level": "3",
    "linetrace": TRACE,
    "embedsignature": True,
    "auto_pickle": False,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "warn.unreachable": True,
    "warn.maybe_uninitialized": True,
}

COMPILE = ["-O1", "-g", "-fsanitize=address,undefined"] if SANITIZE else ["-O2", "-g0"]

core = Extension(
    "*",
    ["src_cython/datapath/_core/*.pyx"],
    define_macros=[("CYTHON_TRACE_NOGIL", "1")] if TRACE else [],
    extra_compile_args=[*COMPILE, "-Wno-unused-function", "-fno-strict-aliasing"],
    extra_link_args=["-fsanitize=address,undefined"] if SANITIZE else [],
)

setup(
    ext_modules=cythonize(
        core,
        include_path=["src_cython"],
        build_dir=None if TRACE else "build/cython",  # Cython.Coverage looks for the .c file beside its .pyx
        nthreads=os.cpu_count() or 1,
        cache=os.environ.get("DATAPATH_CYTHON_CACHE") or None,  # a folder: several checkouts share what they generate
        compiler_directives=DIRECTIVES,
    ),
)
