# Deciding a translation: which tuple a connection gets (nf_nat_core.c, nf_nat_setup_info).
from libc.stdint cimport uint16_t, uint32_t

from datapath._core.conn cimport IPS_DST_NAT_DONE, IPS_SRC_NAT_DONE, CtEntry
from datapath._core.context cimport Net, Walk
from datapath._core.nat_manip cimport MANIP_DST, NatManip, manip_of_hook
from datapath._core.tuples cimport Addr, Tuple


cdef enum NatRangeFlag:  # NF_NAT_RANGE_*
    RANGE_MAP_IPS = 1
    RANGE_PROTO_SPECIFIED = 2
    RANGE_PROTO_RANDOM = 4
    RANGE_PERSISTENT = 8
    RANGE_PROTO_RANDOM_FULLY = 16
    RANGE_PROTO_RANDOM_ALL = 4 | 16
    RANGE_PROTO_OFFSET = 32
    RANGE_NETMAP = 64


cdef struct NatRange:  # struct nf_nat_range2; packed by datapath/extensions/nat_range.py
    uint32_t flags          # NatRangeFlag
    uint32_t rule           # 1 + place of its rule in NatTable.rules, 0: not entered yet. Written when it first binds
    Addr min_addr
    Addr max_addr
    uint16_t min_port
    uint16_t max_port
    uint16_t base_port


# Binds one end of a connection that is not confirmed yet to what the range allows: NF_ACCEPT or NF_DROP.
cdef int nat_setup(Walk* walk, CtEntry* ct, NatRange* bounds, int manip) noexcept nogil
# The same with its own address: nothing is translated unless the tuple clashes (nf_nat_alloc_null_binding).
cdef int nat_setup_null(Walk* walk, CtEntry* ct, int manip) noexcept nogil
# Which address of a range Linux takes for a tuple in a conntrack zone (find_best_ips_proto).
cdef void nat_choose_address(Tuple* tuple, const NatRange* bounds, int manip, uint16_t zone) noexcept nogil


cdef inline bint nat_is_bound(const CtEntry* ct, int manip) noexcept nogil:
    """Whether this end is decided (nf_nat_initialized)."""
    return (ct.status & (IPS_DST_NAT_DONE if manip == MANIP_DST else IPS_SRC_NAT_DONE)) != 0


cdef inline bint nat_decided(const Walk* walk) noexcept nogil:
    """Whether a nat table has bound the packet's connection at this hook: no further table is asked."""
    return walk.pkt.ct == NULL or nat_is_bound(walk.pkt.ct, manip_of_hook(walk.hook))
