"""The node's sysctls. Values that do not fit their field are cut as Linux cuts them: the flags are 8 bits wide."""
from datapath._core.context cimport Sysctls


cdef int sysctls_load(Sysctls* sysctl, dict values) except -1:
    """Fill from CompiledHost.sysctls; every field has a value there."""
    cdef int i = 0
    sysctl.ip_forward = values["ip_forward"] & 0xFF
    sysctl.ip_default_ttl = values["ip_default_ttl"] & 0xFF
    sysctl.ip_no_pmtu_disc = values["ip_no_pmtu_disc"] & 0xFF
    sysctl.ip_forward_use_pmtu = values["ip_forward_use_pmtu"] & 0xFF
    sysctl.ip_forward_update_priority = values["ip_forward_update_priority"] & 0xFF
    sysctl.ip_early_demux = values["ip_early_demux"] & 0xFF
    sysctl.ip_nonlocal_bind = values["ip_nonlocal_bind"] & 0xFF
    sysctl.fib_multipath_hash_policy = values["fib_multipath_hash_policy"] & 0xFF
    sysctl.fwmark_reflect = values["fwmark_reflect"] & 0xFF
    sysctl.fib_multipath_hash_fields = values["fib_multipath_hash_fields"] & 0xFFFFFFFF
    sysctl.ip_local_port_low = values["ip_local_port_low"] & 0xFFFFFFFF
    sysctl.ip_local_port_high = values["ip_local_port_high"] & 0xFFFFFFFF
    sysctl.icmp_echo_ignore_all = values["icmp_echo_ignore_all"] & 0xFF
    sysctl.icmp_echo_ignore_broadcasts = values["icmp_echo_ignore_broadcasts"] & 0xFF
    sysctl.icmp_errors_use_inbound_ifaddr = values["icmp_errors_use_inbound_ifaddr"] & 0xFF
    sysctl.icmp_ratelimit = values["icmp_ratelimit"] & 0xFFFFFFFF
    sysctl.icmp_ratemask = values["icmp_ratemask"] & 0xFFFFFFFF
    sysctl.icmp_msgs_per_sec = values["icmp_msgs_per_sec"] & 0xFFFFFFFF
    sysctl.icmp_msgs_burst = values["icmp_msgs_burst"] & 0xFFFFFFFF
    sysctl.ipfrag_high_thresh = values["ipfrag_high_thresh"] & 0xFFFFFFFF
    sysctl.ipfrag_low_thresh = values["ipfrag_low_thresh"] & 0xFFFFFFFF
    sysctl.ipfrag_time = values["ipfrag_time"] & 0xFFFFFFFF
    sysctl.ipfrag_max_dist = values["ipfrag_max_dist"] & 0xFFFFFFFF
    sysctl.min_pmtu = values["min_pmtu"] & 0xFFFFFFFF
    sysctl.forwarding6 = values["forwarding6"] & 0xFF
    sysctl.hop_limit6 = values["hop_limit6"] & 0xFF
    sysctl.icmp6_ratelimit = values["icmp6_ratelimit"] & 0xFFFFFFFF
    sysctl.icmp6_echo_ignore_all = values["icmp6_echo_ignore_all"] & 0xFF
    sysctl.ip6_flowlabel_reflect = values["ip6_flowlabel_reflect"] & 0xFF
    sysctl.fwmark_reflect6 = values["fwmark_reflect6"] & 0xFF
    sysctl.ip_nonlocal_bind6 = values["ip_nonlocal_bind6"] & 0xFF
    sysctl.fib_multipath_hash_policy6 = values["fib_multipath_hash_policy6"] & 0xFF
    sysctl.ip6frag_high_thresh = values["ip6frag_high_thresh"] & 0xFFFFFFFF
    sysctl.ip6frag_time = values["ip6frag_time"] & 0xFFFFFFFF
    sysctl.nf_frag6_timeout = values["nf_frag6_timeout"] & 0xFFFFFFFF
    sysctl.nf_frag6_high_thresh = values["nf_frag6_high_thresh"] & 0xFFFFFFFF
    sysctl.bridge_nf_call_iptables = values["bridge_nf_call_iptables"] & 0xFF
    sysctl.bridge_nf_call_ip6tables = values["bridge_nf_call_ip6tables"] & 0xFF
    sysctl.bridge_nf_filter_vlan_tagged = values["bridge_nf_filter_vlan_tagged"] & 0xFF
    sysctl.ct_checksum = values["ct_checksum"] & 0xFF
    sysctl.ct_acct = values["ct_acct"] & 0xFF
    sysctl.ct_helper = values["ct_helper"] & 0xFF
    sysctl.ct_tcp_loose = values["ct_tcp_loose"] & 0xFF
    sysctl.ct_tcp_be_liberal = values["ct_tcp_be_liberal"] & 0xFF
    sysctl.ct_tcp_ignore_invalid_rst = values["ct_tcp_ignore_invalid_rst"] & 0xFF
    sysctl.ct_tcp_max_retrans = values["ct_tcp_max_retrans"] & 0xFF
    sysctl.ct_timestamp = values["ct_timestamp"] & 0xFF
    sysctl.ct_max = values["ct_max"] & 0xFFFFFFFF
    sysctl.ct_expect_max = values["ct_expect_max"] & 0xFFFFFFFF
    sysctl.ct_buckets = values["ct_buckets"] & 0xFFFFFFFF
    sysctl.ct_timeout_tcp_unacked = values["ct_timeout_tcp_unacked"] & 0xFFFFFFFFFFFFFFFF
    sysctl.ct_timeout_tcp_retrans = values["ct_timeout_tcp_retrans"] & 0xFFFFFFFFFFFFFFFF
    sysctl.ct_timeout_icmp = values["ct_timeout_icmp"] & 0xFFFFFFFFFFFFFFFF
    sysctl.ct_timeout_icmp6 = values["ct_timeout_icmp6"] & 0xFFFFFFFFFFFFFFFF
    sysctl.ct_timeout_generic = values["ct_timeout_generic"] & 0xFFFFFFFFFFFFFFFF
    for i in range(16):
        sysctl.ct_timeout_tcp[i] = values["ct_timeout_tcp"][i]
        sysctl.ct_timeout_sctp[i] = values["ct_timeout_sctp"][i]
        sysctl.ct_timeout_dccp[i] = values["ct_timeout_dccp"][i]
    for i in range(32):
        sysctl.icmp6_ratemask[i] = values["icmp6_ratemask"][i]
    for i in range(2):
        sysctl.ct_timeout_udp[i] = values["ct_timeout_udp"][i]
        sysctl.ct_timeout_gre[i] = values["ct_timeout_gre"][i]
    return 0
