"""net.netfilter.nf_conntrack_*: names, Linux's defaults, and where each is kept (nf_conntrack_standalone.c)."""
from libc.stdint cimport uint64_t

from datapath._core.ct_table cimport Conntrack
from datapath._core.ct_tcp_states import STATES as TCP_STATES

SCTP_STATES = ("none", "closed", "cookie_wait", "cookie_echoed", "established", "shutdown_sent", "shutdown_recd",
               "shutdown_ack_sent", "heartbeat_sent")

# Seconds, by the name behind nf_conntrack_.
TIMEOUTS = {
    "tcp_timeout_syn_sent": 120, "tcp_timeout_syn_recv": 60, "tcp_timeout_established": 432000, "tcp_timeout_fin_wait": 120,
    "tcp_timeout_close_wait": 60, "tcp_timeout_last_ack": 30, "tcp_timeout_time_wait": 120, "tcp_timeout_close": 10,
    "tcp_timeout_max_retrans": 300, "tcp_timeout_unacknowledged": 300,
    "udp_timeout": 30, "udp_timeout_stream": 120, "icmp_timeout": 30, "icmpv6_timeout": 30, "generic_timeout": 600,
    "gre_timeout": 30, "gre_timeout_stream": 180,
    "sctp_timeout_closed": 10, "sctp_timeout_cookie_wait": 3, "sctp_timeout_cookie_echoed": 3, "sctp_timeout_established": 210,
    "sctp_timeout_shutdown_sent": 3, "sctp_timeout_shutdown_recd": 3, "sctp_timeout_shutdown_ack_sent": 3,
    "sctp_timeout_heartbeat_sent": 30,
}
OTHERS = {
    "acct": 0, "checksum": 1, "timestamp": 0, "helper": 0, "max": 262144, "expect_max": 4096, "buckets": 262144,
    "tcp_loose": 1, "tcp_be_liberal": 0, "tcp_ignore_invalid_rst": 0, "tcp_max_retrans": 3,
}
DEFAULTS = TIMEOUTS | OTHERS


cdef int conntrack_sysctl_defaults(Net* net) except -1:
    """Those of a machine with 4 GB and more (nf_conntrack_max and _buckets depend on its memory)."""
    for name, value in DEFAULTS.items():
        conntrack_sysctl_set(net, "net.netfilter.nf_conntrack_" + name, value)
    return 0


cdef bint conntrack_sysctl_set(Net* net, str name, int64_t value) except -1:
    """Set one by its full name; timeouts are in seconds. Connections that exist keep what they were given."""
    cdef uint64_t ns
    cdef str short
    if name == "net.nf_conntrack_max":
        short = "max"
    elif name.startswith("net.netfilter.nf_conntrack_"):
        short = name[len("net.netfilter.nf_conntrack_"):]
    else:
        return False
    if short in TIMEOUTS:
        ns = <uint64_t>max(value, 0) * 1000000000
        set_timeout(net, short, ns)
        return True
    if short not in OTHERS:
        return False
    set_other(net, short, value)
    return True


cdef int set_timeout(Net* net, str short, uint64_t ns) except -1:
    protocol, _, rest = short.partition("_timeout")
    rest = rest.lstrip("_")
    if protocol == "tcp":
        if rest == "max_retrans":
            net.sysctl.ct_timeout_tcp_retrans = ns
        elif rest == "unacknowledged":
            net.sysctl.ct_timeout_tcp_unacked = ns
        else:
            set_tcp_timeout(net, rest, ns)
    elif protocol == "sctp":
        net.sysctl.ct_timeout_sctp[<int>SCTP_STATES.index(rest)] = ns
    elif protocol == "udp":
        net.sysctl.ct_timeout_udp[1 if rest else 0] = ns
    elif protocol == "gre":
        net.sysctl.ct_timeout_gre[1 if rest else 0] = ns
    elif protocol == "icmp":
        net.sysctl.ct_timeout_icmp = ns
    elif protocol == "icmpv6":
        net.sysctl.ct_timeout_icmp6 = ns
    else:
        net.sysctl.ct_timeout_generic = ns
    return 0


cdef int set_tcp_timeout(Net* net, str state, uint64_t ns) except -1:
    """By state. SYN_SENT2 has no sysctl: its two minutes never change."""
    net.sysctl.ct_timeout_tcp[<int>TCP_STATES.index(state.upper())] = ns
    net.sysctl.ct_timeout_tcp[<int>TCP_STATES.index("SYN_SENT2")] = <uint64_t>120 * 1000000000
    return 0


cdef int set_other(Net* net, str short, int64_t value) except -1:
    if short == "acct":
        net.sysctl.ct_acct = value != 0
    elif short == "checksum":
        net.sysctl.ct_checksum = value != 0
    elif short == "timestamp":
        net.sysctl.ct_timestamp = value != 0
    elif short == "helper":
        net.sysctl.ct_helper = value != 0
    elif short == "max":
        net.sysctl.ct_max = value
    elif short == "expect_max":
        net.sysctl.ct_expect_max = value
    elif short == "buckets":
        (<Conntrack*>net.conntrack).linux_buckets = max(value, 1)
    elif short == "tcp_loose":
        net.sysctl.ct_tcp_loose = value != 0
    elif short == "tcp_be_liberal":
        net.sysctl.ct_tcp_be_liberal = value != 0
    elif short == "tcp_ignore_invalid_rst":
        net.sysctl.ct_tcp_ignore_invalid_rst = value != 0
    else:
        net.sysctl.ct_tcp_max_retrans = value & 0xFF
    return 0
