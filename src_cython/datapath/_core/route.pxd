# Routing decisions: what ip_route_input, ip_route_output and their like answer.
#
# A decision that is an error (RouteDecision.error) is still a decision: the packet goes on with it to ip_error or
# ip6_pkt_discard, which may send an ICMP error. EINVAL is a blackhole: nothing is sent.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from datapath._core.address_type cimport (
    RPFILTER_ACCEPT_LOCAL, RPFILTER_LOOSE, RPFILTER_VALID_MARK, address_is_local, address_type, addrtype6_fits, multicast_member, reverse_path_ok,
)
from datapath._core.context cimport Net, Walk
from datapath._core.fib cimport Flow, RouteDecision
from datapath._core.fib_table cimport FibResult
from datapath._core.packet cimport Packet
from datapath._core.route_output cimport multipath_choose, route_output
from datapath._core.source_address cimport device_holds, masquerade_address, select_source
from datapath._core.tuples cimport Addr


cdef int fib_load(Net* net, object compiled) except -1      # devices, sysctls, tables and rules of a CompiledHost
cdef void fib_free(Net* net) noexcept nogil
cdef int fib_lookup(Net* net, const Flow* flow, RouteDecision* decision) noexcept nogil     # 0 or a positive errno
cdef int route_input(Walk* walk) noexcept nogil             # sets pkt.route; 0 or the DropReason; writes STEP_ROUTE
cdef int route_me_harder(Walk* walk) noexcept nogil         # 0 or a positive errno; sets pkt.route
cdef int32_t route_intern(Net* net, const RouteDecision* decision) noexcept nogil   # its place in Net.routes
# Shared by the routing modules:
cdef void decision_of(Net* net, const FibResult* result, uint8_t family, RouteDecision* decision) noexcept nogil
cdef void flow_of_packet(const Packet* pkt, Flow* flow) noexcept nogil      # addresses, tos, and protocol and ports as the flow dissector sees them
