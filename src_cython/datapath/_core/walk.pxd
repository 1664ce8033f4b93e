# The way of a packet through the node, as in the well-known netfilter diagram.
from libc.stdint cimport int32_t, uint64_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet


cdef inline void walk_begin(Walk* walk, Net* net, Packet* pkt, int32_t in_dev, int32_t out_dev) noexcept nogil:
    walk.net = net
    walk.pkt = pkt
    walk.hook = 0
    walk.family = pkt.family
    walk.hotdrop = 0
    walk.in_dev = in_dev
    walk.out_dev = out_dev
    walk.drop_reason = 0
    walk.error = 0
    walk.rule_chain = -1
    walk.rule_number = 0
    walk.rule_table = 0


cdef void walk_receive(Net* net, Packet* pkt) noexcept nogil        # a frame on pkt.dev; pkt is given away
cdef void walk_local_out(Net* net, Packet* pkt) noexcept nogil      # an IP packet of this node enters OUTPUT; pkt is given away
cdef void walk_advance(Net* net, uint64_t now_ns) noexcept nogil    # time passes: what was due until then happens, in its order
cdef void walk_input(Walk* walk) noexcept nogil                     # dst_input: for a packet whose destination was changed on the way in
cdef void walk_looped(Net* net, Packet* pkt) noexcept nogil         # a packet that comes back from the loopback
