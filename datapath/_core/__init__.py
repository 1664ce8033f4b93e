"""The compiled core; its sources are in src_cython/."""
