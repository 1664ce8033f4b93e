# Routing questions from Python: what `ip route get` asks.
from datapath._core.context cimport Net

cdef dict route_query(Net* net, dict question)
