"""ICMP errors (net/ipv4/icmp.c, __icmp_send; net/ipv6/icmp.c, icmp6_send)."""


cdef void icmp_send(Walk* walk, uint8_t type, uint8_t code, uint32_t info) noexcept nogil:
    pass
