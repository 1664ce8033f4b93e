# Verification of transport checksums as nf_checksum does it.
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.ct_track cimport Tracking
from datapath._core.packet cimport Packet


cdef bint checksum_ok(Tracking* t, uint8_t protocol) noexcept nogil
cdef bint checksum_ok_partial(Tracking* t, uint8_t protocol, uint32_t coverage) noexcept nogil
