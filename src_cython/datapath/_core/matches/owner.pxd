# -m owner: the process that sent a packet (net/netfilter/xt_owner.c, owner_mt).
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_UNKNOWN, MATCH_YES
from datapath._core.packet cimport Packet


cdef enum OwnerFlag:  # XT_OWNER_*
    OWNER_UID = 1
    OWNER_GID = 2
    OWNER_SOCKET = 4


cdef struct OwnerMatch:  # packed by datapath/extensions/matches/owner.py
    uint32_t uid_low, uid_high
    uint32_t gid_low, gid_high
    uint8_t asked           # OwnerFlag
    uint8_t invert


cdef inline bint has_socket(const Packet* pkt) noexcept nogil:
    """Processes send through sockets, and so does the kernel its ICMP messages; a reset of REJECT has none."""
    return pkt.local and (pkt.main or pkt.has_owner or pkt.protocol == 1 or pkt.protocol == 58)


cdef inline int match_owner(Walk* walk, void* payload) noexcept nogil:
    cdef const OwnerMatch* want = <const OwnerMatch*>payload
    cdef Packet* pkt = walk.pkt
    if not has_socket(pkt):
        return want.asked == want.invert
    if want.asked & want.invert & OWNER_SOCKET:
        return MATCH_NO
    if not pkt.has_owner:
        if not pkt.main:    # the kernel's own socket belongs to no file, and so to nobody
            return ((want.asked ^ want.invert) & (OWNER_UID | OWNER_GID)) == 0
        return MATCH_UNKNOWN if want.asked & (OWNER_UID | OWNER_GID) else MATCH_YES
    if want.asked & OWNER_UID and (want.uid_low <= pkt.uid <= want.uid_high) == ((want.invert & OWNER_UID) != 0):
        return MATCH_NO
    if want.asked & OWNER_GID and (want.gid_low <= pkt.gid <= want.gid_high) == ((want.invert & OWNER_GID) != 0):
        return MATCH_NO
    return MATCH_YES
