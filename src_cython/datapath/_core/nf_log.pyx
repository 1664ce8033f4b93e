"""Writing a packet's log line as the kernel's log shows it, into the recorder's text buffer."""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport realloc

from datapath._core.device cimport DEVICE_LOOPBACK, Device
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.record cimport RECORD_STEPS, STEP_LOG, Recorder, record
from datapath._core.wire cimport load_be16, load_be32

cdef enum:
    LONGEST = 1024          # S_SIZE of nf_log_buf, about: no line is longer
    ETH_HLEN = 14
    NR_ICMP_TYPES = 18


cdef struct Line:           # struct nf_log_buf
    char* text
    uint32_t used


cdef void put(Line* line, const char* text) noexcept nogil:
    cdef uint32_t i = 0
    while text[i] and line.used < LONGEST - 1:
        line.text[line.used] = text[i]
        line.used += 1
        i += 1


cdef void put_number(Line* line, const char* form, uint32_t value) noexcept nogil:
    """One number in a printf form that has one %u, %x or the like."""
    cdef int n = snprintf(line.text + line.used, LONGEST - line.used, form, value)
    if n > 0:
        line.used = min(line.used + <uint32_t>n, <uint32_t>(LONGEST - 1))


cdef void put_hex(Line* line, const uint8_t* data, uint32_t n, const char* first, const char* further) noexcept nogil:
    cdef uint32_t i
    for i in range(n):
        put_number(line, further if i else first, data[i])


cdef void put_address4(Line* line, const char* name, const uint8_t* address) noexcept nogil:
    cdef int i
    put(line, name)
    for i in range(4):
        put_number(line, b"%u." if i < 3 else b"%u ", address[i])


cdef void put_address6(Line* line, const char* name, const uint8_t* address) noexcept nogil:
    cdef int i
    put(line, name)
    for i in range(8):
        put_number(line, b"%04x:" if i < 7 else b"%04x ", load_be16(address + 2 * i))


cdef uint32_t behind(const Packet* pkt, uint32_t at) noexcept nogil:
    return pkt.len - at if pkt.len > at else 0


cdef bint put_tcp(Line* line, const Packet* pkt, uint32_t at, bint fragment, uint8_t flags) noexcept nogil:
    """nf_log_dump_tcp_header; True: the line ends here."""
    cdef const uint8_t* tcp = packet_ip(pkt) + at
    cdef uint32_t length
    put(line, b"PROTO=TCP ")
    if fragment:
        return False
    if not packet_has(pkt, at, 20):
        put_number(line, b"INCOMPLETE [%u bytes] ", behind(pkt, at))
        return True
    put_number(line, b"SPT=%u ", load_be16(tcp))
    put_number(line, b"DPT=%u ", load_be16(tcp + 2))
    if flags & LOG_TCP_SEQUENCE:
        put_number(line, b"SEQ=%u ", load_be32(tcp + 4))
        put_number(line, b"ACK=%u ", load_be32(tcp + 8))
    put_number(line, b"WINDOW=%u ", load_be16(tcp + 14))
    put_number(line, b"RES=0x%02x ", (tcp[12] & 0x0F) << 2)
    put_tcp_flags(line, tcp[13])
    put_number(line, b"URGP=%u ", load_be16(tcp + 18))
    length = (tcp[12] >> 4) * 4
    if flags & LOG_TCP_OPTIONS and length > 20:
        if not packet_has(pkt, at, length):
            put(line, b"OPT (TRUNCATED)")
            return True
        put(line, b"OPT (")
        put_hex(line, tcp + 20, length - 20, b"%02X", b"%02X")
        put(line, b") ")
    return False


cdef void put_tcp_flags(Line* line, uint8_t bits) noexcept nogil:
    if bits & 0x80:
        put(line, b"CWR ")
    if bits & 0x40:
        put(line, b"ECE ")
    if bits & 0x20:
        put(line, b"URG ")
    if bits & 0x10:
        put(line, b"ACK ")
    if bits & 0x08:
        put(line, b"PSH ")
    if bits & 0x04:
        put(line, b"RST ")
    if bits & 0x02:
        put(line, b"SYN ")
    if bits & 0x01:
        put(line, b"FIN ")


cdef bint put_udp(Line* line, const Packet* pkt, uint32_t at, bint fragment, uint8_t protocol) noexcept nogil:
    """nf_log_dump_udp_header; True: the line ends here."""
    cdef const uint8_t* udp = packet_ip(pkt) + at
    put(line, b"PROTO=UDP " if protocol == 17 else b"PROTO=UDPLITE ")
    if fragment:
        return False
    if not packet_has(pkt, at, 8):
        put_number(line, b"INCOMPLETE [%u bytes] ", behind(pkt, at))
        return True
    put_number(line, b"SPT=%u ", load_be16(udp))
    put_number(line, b"DPT=%u ", load_be16(udp + 2))
    put_number(line, b"LEN=%u ", load_be16(udp + 4))
    return False


cdef uint32_t icmp_least(uint8_t type) noexcept nogil:
    """Bytes that an ICMP message of the type has at least; 0: not known."""
    if type == 0 or type == 8:
        return 4
    if type == 3 or type == 4 or type == 5 or type == 11 or type == 12:
        return 28
    if type == 13 or type == 14:
        return 20
    return 12 if type == 17 or type == 18 else 0


cdef void put_icmp(Line* line, Walk* walk, uint32_t at, bint fragment, uint8_t flags, bint inner) noexcept nogil:
    cdef const Packet* pkt = walk.pkt
    cdef const uint8_t* icmp = packet_ip(pkt) + at
    cdef uint32_t least
    put(line, b"PROTO=ICMP ")
    if fragment:
        return
    if not packet_has(pkt, at, 8):
        put_number(line, b"INCOMPLETE [%u bytes] ", behind(pkt, at))
        return
    put_number(line, b"TYPE=%u ", icmp[0])
    put_number(line, b"CODE=%u ", icmp[1])
    least = icmp_least(icmp[0])
    if least and behind(pkt, at) < least:
        put_number(line, b"INCOMPLETE [%u bytes] ", behind(pkt, at))
        return
    if icmp[0] == 0 or icmp[0] == 8:
        put_number(line, b"ID=%u ", load_be16(icmp + 4))
        put_number(line, b"SEQ=%u ", load_be16(icmp + 6))
    elif icmp[0] == 12:
        put_number(line, b"PARAMETER=%u ", icmp[4])
    elif icmp[0] == 3 or icmp[0] == 4 or icmp[0] == 5 or icmp[0] == 11:
        if icmp[0] == 5:
            put_address4(line, b"GATEWAY=", icmp + 4)
        if not inner:
            put(line, b"[")
            put_ipv4(line, walk, at + 8, flags, True)
            put(line, b"] ")
        if icmp[0] == 3 and icmp[1] == 4:
            put_number(line, b"MTU=%u ", load_be16(icmp + 6))


cdef void put_owner_and_mark(Line* line, const Walk* walk, uint8_t flags) noexcept nogil:
    cdef const Packet* pkt = walk.pkt
    if flags & LOG_UID and pkt.has_owner and walk.in_dev < 0:   # the loopback device takes the socket away
        put_number(line, b"UID=%u ", pkt.uid)
        put_number(line, b"GID=%u ", pkt.gid)
    if pkt.mark:
        put_number(line, b"MARK=0x%x ", pkt.mark)


cdef void put_spi(Line* line, const Packet* pkt, uint32_t at, uint32_t least, uint32_t spi) noexcept nogil:
    if not packet_has(pkt, at, least):
        put_number(line, b"INCOMPLETE [%u bytes] ", behind(pkt, at))
    else:
        put_number(line, b"SPI=0x%x ", load_be32(packet_ip(pkt) + at + spi))


cdef void put_ipv4(Line* line, Walk* walk, uint32_t at, uint8_t flags, bint inner) noexcept nogil:
    """dump_ipv4_packet."""
    cdef const Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt) + at
    cdef uint16_t frag
    cdef uint32_t header
    if not packet_has(pkt, at, 20):
        put(line, b"TRUNCATED")
        return
    frag = load_be16(ip + 6)
    header = (ip[0] & 15) * 4
    put_address4(line, b"SRC=", ip + 12)
    put_address4(line, b"DST=", ip + 16)
    put_number(line, b"LEN=%u ", load_be16(ip + 2))
    put_number(line, b"TOS=0x%02X ", ip[1] & 0x1E)
    put_number(line, b"PREC=0x%02X ", ip[1] & 0xE0)
    put_number(line, b"TTL=%u ", ip[8])
    put_number(line, b"ID=%u ", load_be16(ip + 4))
    if frag & 0x8000:
        put(line, b"CE ")
    if frag & 0x4000:
        put(line, b"DF ")
    if frag & 0x2000:
        put(line, b"MF ")
    if frag & 0x1FFF:
        put_number(line, b"FRAG:%u ", frag & 0x1FFF)
    if flags & LOG_IP_OPTIONS and header > 20:
        if not packet_has(pkt, at, header):
            put(line, b"TRUNCATED")
            return
        put(line, b"OPT (")
        put_hex(line, ip + 20, header - 20, b"%02X", b"%02X")
        put(line, b") ")
    if ip[9] == 6:
        if put_tcp(line, pkt, at + header, (frag & 0x1FFF) != 0, flags):
            return
    elif ip[9] == 17 or ip[9] == 136:
        if put_udp(line, pkt, at + header, (frag & 0x1FFF) != 0, ip[9]):
            return
    elif ip[9] == 1:
        put_icmp(line, walk, at + header, (frag & 0x1FFF) != 0, flags, inner)
    elif ip[9] == 51:
        if not frag & 0x1FFF:
            put(line, b"PROTO=AH ")
            put_spi(line, pkt, at + header, 12, 4)
    elif ip[9] == 50:
        put(line, b"PROTO=ESP ")
        if not frag & 0x1FFF:
            put_spi(line, pkt, at + header, 8, 0)
    else:
        put_number(line, b"PROTO=%u ", ip[9])
    if not inner:
        put_owner_and_mark(line, walk, flags)


cdef int32_t put_extensions(Line* line, const Packet* pkt, uint32_t* at, uint8_t header, uint8_t flags, bint* fragment) noexcept nogil:
    """The extension headers of IPv6: the protocol behind them, or -1 when the line ends here."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint32_t length
    cdef uint16_t frag
    while header == 0 or header == 43 or header == 44 or header == 50 or header == 51 or header == 60:
        if not packet_has(pkt, at[0], 2):
            put(line, b"TRUNCATED")
            return -1
        if flags & LOG_IP_OPTIONS:
            put(line, b"OPT ( ")
        if header == 44:
            put(line, b"FRAG:")
            if not packet_has(pkt, at[0], 8):
                put(line, b"TRUNCATED ")
                return -1
            frag = load_be16(ip + at[0] + 2)
            put_number(line, b"%u ", frag & 0xFFF8)
            if frag & 1:
                put(line, b"INCOMPLETE ")
            put_number(line, b"ID:%08x ", load_be32(ip + at[0] + 4))
            if frag & 0xFFF8:
                fragment[0] = True
            length = 8
        elif header == 50 or header == 51:
            if flags & LOG_IP_OPTIONS:
                put(line, b"ESP " if header == 50 else b"AH ")
                if fragment[0]:
                    put(line, b")")
                    return -1
                if not packet_has(pkt, at[0], 8 if header == 50 else 12):
                    put_number(line, b"INCOMPLETE [%u bytes] )", behind(pkt, at[0]))
                    return -1
                put_number(line, b"SPI=0x%x )" if header == 50 else b"SPI=0x%x ", load_be32(ip + at[0] + (0 if header == 50 else 4)))
            if header == 50:
                return -1
            length = (<uint32_t>ip[at[0] + 1] + 2) * 4
        else:
            if fragment[0]:
                if flags & LOG_IP_OPTIONS:
                    put(line, b")")
                return -1
            length = (<uint32_t>ip[at[0] + 1] + 1) * 8
        if flags & LOG_IP_OPTIONS:
            put(line, b") ")
        header = ip[at[0]]
        at[0] += length
    return header


cdef bint put_icmp6(Line* line, Walk* walk, uint32_t at, bint fragment, uint8_t flags, bint inner) noexcept nogil:
    """True: the line ends here."""
    cdef const Packet* pkt = walk.pkt
    cdef const uint8_t* icmp = packet_ip(pkt) + at
    put(line, b"PROTO=ICMPv6 ")
    if fragment:
        return False
    if not packet_has(pkt, at, 8):
        put_number(line, b"INCOMPLETE [%u bytes] ", behind(pkt, at))
        return True
    put_number(line, b"TYPE=%u ", icmp[0])
    put_number(line, b"CODE=%u ", icmp[1])
    if icmp[0] == 128 or icmp[0] == 129:
        put_number(line, b"ID=%u ", load_be16(icmp + 4))
        put_number(line, b"SEQ=%u ", load_be16(icmp + 6))
    elif 1 <= icmp[0] <= 4:
        if icmp[0] == 4:
            put_number(line, b"POINTER=%08x ", load_be32(icmp + 4))
        if not inner:
            put(line, b"[")
            put_ipv6(line, walk, at + 8, flags, True)
            put(line, b"] ")
        if icmp[0] == 2:
            put_number(line, b"MTU=%u ", load_be32(icmp + 4))
    return False


cdef void put_ipv6(Line* line, Walk* walk, uint32_t at, uint8_t flags, bint inner) noexcept nogil:
    """dump_ipv6_packet."""
    cdef const Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt) + at
    cdef bint fragment = False
    cdef int32_t protocol
    if not packet_has(pkt, at, 40):
        put(line, b"TRUNCATED")
        return
    put_address6(line, b"SRC=", ip + 8)
    put_address6(line, b"DST=", ip + 24)
    put_number(line, b"LEN=%u ", <uint32_t>load_be16(ip + 4) + 40)
    put_number(line, b"TC=%u ", load_be32(ip) >> 20 & 0xFF)
    put_number(line, b"HOPLIMIT=%u ", ip[7])
    put_number(line, b"FLOWLBL=%u ", load_be32(ip) & 0xFFFFF)
    at += 40
    protocol = put_extensions(line, pkt, &at, ip[6], flags, &fragment)
    if protocol < 0:
        return
    if protocol == 6:
        if put_tcp(line, pkt, at, fragment, flags):
            return
    elif protocol == 17 or protocol == 136:
        if put_udp(line, pkt, at, fragment, <uint8_t>protocol):
            return
    elif protocol == 58:
        if put_icmp6(line, walk, at, fragment, flags, inner):
            return
    else:
        put_number(line, b"PROTO=%u ", <uint32_t>protocol)
    if not inner:
        put_owner_and_mark(line, walk, flags)


cdef void put_mac(Line* line, Walk* walk, uint8_t flags) noexcept nogil:
    """dump_mac_header."""
    cdef const Packet* pkt = walk.pkt
    cdef const Device* device = &walk.net.devices[walk.in_dev]
    cdef const uint8_t* mac = pkt.head + pkt.mac
    if flags & LOG_MAC_DECODE and device.has_link_header:
        if pkt.mac_len < ETH_HLEN:
            return
        put(line, b"MACSRC=")
        put_hex(line, mac + 6, 6, b"%02x", b":%02x")
        put(line, b" MACDST=")
        put_hex(line, mac, 6, b"%02x", b":%02x")
        put(line, b" ")
        if pkt.vlan_present:
            put(line, b"VPROTO=8100 ")
            put_number(line, b"VID=%u ", pkt.vlan & 0xFFF)
        put_number(line, b"MACPROTO=%04x ", load_be16(mac + 12))
        return
    put(line, b"MAC=")
    if device.kind == DEVICE_LOOPBACK:
        put(line, b"00:00:00:00:00:00:00:00:00:00:00:00:")
        put(line, b"08:00" if walk.family == 4 else b"86:dd")
    elif pkt.mac_len and device.has_link_header:
        put_hex(line, mac, ETH_HLEN, b"%02x", b":%02x")
    put(line, b" ")


cdef void log_packet(Walk* walk, uint8_t kind, uint8_t flags, const char* prefix) noexcept nogil:
    """Write one line (nf_log_ip_packet, nf_log_ip6_packet) and a step that refers to it."""
    cdef Recorder* rec = &walk.net.recorder
    cdef Line line
    cdef char* larger
    cdef uint32_t offset = rec.text_used
    if rec.level < RECORD_STEPS:
        record(rec, STEP_LOG, walk.hook, walk.rule_table, kind, 0, 0, 0, True)
        return
    if rec.text_size - rec.text_used < LONGEST:
        larger = <char*>realloc(rec.text, rec.text_size * 2 + LONGEST)
        if larger == NULL:
            return
        rec.text = larger
        rec.text_size = rec.text_size * 2 + LONGEST
    line.text = rec.text + offset
    line.used = 0
    put(&line, prefix)
    put(&line, b"IN=")
    if walk.in_dev >= 0:
        put(&line, walk.net.devices[walk.in_dev].name)
    put(&line, b" OUT=")
    if walk.out_dev >= 0:
        put(&line, walk.net.devices[walk.out_dev].name)
    put(&line, b" ")
    if walk.in_dev >= 0:
        put_mac(&line, walk, flags)
    if walk.family == 4:
        put_ipv4(&line, walk, 0, flags, False)
    else:
        put_ipv6(&line, walk, 0, flags, False)
    rec.text_used = offset + line.used
    record(rec, STEP_LOG, walk.hook, walk.rule_table, kind, 0, 0, <uint64_t>offset << 32 | line.used, True)
