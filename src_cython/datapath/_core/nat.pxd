# NAT at the hooks (nf_nat_core.c, nf_nat_inet_fn; nf_nat_proto.c, nf_nat_ipv4_fn and its like).
from datapath._core.context cimport Net, Walk
from datapath._core.nat_binding cimport NatRange, nat_setup, nat_setup_null
from datapath._core.packet cimport Packet
from datapath._core.nat_source cimport nat_free, nat_init, nat_rules, nat_source_link, nat_source_unlink


cdef int nat_hook(Walk* walk, int arg) noexcept nogil   # HookFunction at -100 (PREROUTING, OUTPUT) and 100 (INPUT, POSTROUTING)
# A packet as it left, made what it was before NAT, through its entry. False: it has none.
cdef bint nat_undo(Net* net, Packet* pkt) noexcept nogil
