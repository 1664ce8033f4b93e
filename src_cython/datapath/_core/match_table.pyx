"""The one table of matches: a name that Match.lower uses, what evaluates it, and the size of its payload."""
from datapath._core.ipset cimport IpSet, set_find
from datapath._core.match_base cimport OpHeader
from datapath._core.matches.ports_nft cimport PortsNft, match_ports_nft
from datapath._core.matches.addrtype cimport AddrtypeMatch, match_addrtype
from datapath._core.matches.ah cimport AhMatch, match_ah
from datapath._core.matches.comment cimport match_comment
from datapath._core.matches.connbytes cimport ConnbytesMatch, match_connbytes
from datapath._core.matches.conntrack cimport ConntrackMatch, match_conntrack
from datapath._core.matches.dccp cimport DccpMatch, match_dccp
from datapath._core.matches.ecn cimport EcnMatch, match_ecn
from datapath._core.matches.esp cimport EspMatch, match_esp
from datapath._core.matches.frag cimport FragMatch, match_frag
from datapath._core.matches.hl cimport HlMatch, match_hl
from datapath._core.matches.icmp cimport IcmpMatch, match_icmp
from datapath._core.matches.iprange cimport IprangeMatch, match_iprange
from datapath._core.matches.ipv6_options cimport Ipv6OptionsMatch, match_ipv6_options
from datapath._core.matches.ipv6header cimport Ipv6headerMatch, match_ipv6header
from datapath._core.matches.length cimport LengthMatch, match_length
from datapath._core.matches.limit cimport LimitMatch, NftLimitMatch, match_limit, match_limit_nft
from datapath._core.matches.mac cimport MacMatch, match_mac
from datapath._core.matches.mark cimport MarkMatch, match_connmark, match_mark
from datapath._core.matches.multiport cimport MultiportMatch, match_multiport
from datapath._core.matches.owner cimport OwnerMatch, match_owner
from datapath._core.matches.pkttype cimport PkttypeMatch, match_pkttype
from datapath._core.matches.quota cimport QuotaMatch, match_quota
from datapath._core.matches.recent cimport RecentMatch, match_recent
from datapath._core.matches.rpfilter cimport RpfilterMatch, match_rpfilter
from datapath._core.matches.rt cimport RtMatch, match_rt
from datapath._core.matches.sctp cimport SctpMatch, match_sctp
from datapath._core.matches.set cimport SetMatch, match_set
from datapath._core.matches.statistic cimport StatisticMatch, match_statistic
from datapath._core.matches.tcp cimport TcpMatch, match_tcp
from datapath._core.matches.tos cimport TosMatch, match_tos
from datapath._core.matches.udp cimport UdpMatch, match_udp
from datapath._core.matches.unknown cimport match_unknown
from datapath._core.recent cimport recent_bind, recent_release

MATCH_KINDS = {}


cdef void enter(str name, MatchFunction function, size_t size) except *:
    cdef int kind = len(MATCH_KINDS)
    if name in MATCH_KINDS or kind >= MATCH_KINDS_MAX:
        raise RuntimeError(f"match {name} cannot be entered")
    MATCHES[kind] = function
    MATCH_KINDS[name] = (kind, size)


cdef int match_bind(Net* net, void* payload, str namespace, str name) except -1:
    """Join a match or target to what it shares with others on this node: 1 when that is done, 0 when `namespace` is another.

    Raises LookupError for a set that does not exist.
    """
    if namespace == "recent":
        bind_recent(net, <RecentMatch*>payload, name)
    elif namespace == "set":
        bind_set(net, <IpSet**>payload, name)
    else:
        return 0
    return 1


cdef int bind_recent(Net* net, RecentMatch* recent, str name) except -1:
    recent.table = recent_bind(net, name, recent.mask, recent.hits)
    return 0


cdef int bind_set(Net* net, IpSet** slot, str name) except -1:
    slot[0] = set_find(net, name)
    if slot[0] == NULL:
        raise LookupError(f"set {name} does not exist")
    slot[0].refs += 1
    return 0


cdef void match_release(OpHeader* op) noexcept nogil:
    """Let go of what match_bind has joined, when the rule is taken away."""
    cdef SetMatch* match
    if op.run == <MatchFunction>match_recent:
        recent_release((<RecentMatch*>(op + 1)).table)
    elif op.run == <MatchFunction>match_set:
        match = <SetMatch*>(op + 1)
        if match.ipset != NULL:
            match.ipset.refs -= 1


enter("addrtype", match_addrtype, sizeof(AddrtypeMatch))
enter("ah", match_ah, sizeof(AhMatch))
enter("comment", match_comment, 0)
enter("connbytes", match_connbytes, sizeof(ConnbytesMatch))
enter("connmark", match_connmark, sizeof(MarkMatch))
enter("conntrack", match_conntrack, sizeof(ConntrackMatch))
enter("dccp", match_dccp, sizeof(DccpMatch))
enter("ecn", match_ecn, sizeof(EcnMatch))
enter("esp", match_esp, sizeof(EspMatch))
enter("frag", match_frag, sizeof(FragMatch))
enter("hl", match_hl, sizeof(HlMatch))
enter("icmp", match_icmp, sizeof(IcmpMatch))
enter("iprange", match_iprange, sizeof(IprangeMatch))
enter("ipv6_options", match_ipv6_options, sizeof(Ipv6OptionsMatch))
enter("ipv6header", match_ipv6header, sizeof(Ipv6headerMatch))
enter("length", match_length, sizeof(LengthMatch))
enter("limit", match_limit, sizeof(LimitMatch))
enter("limit_nft", match_limit_nft, sizeof(NftLimitMatch))
enter("mac", match_mac, sizeof(MacMatch))
enter("mark", match_mark, sizeof(MarkMatch))
enter("multiport", match_multiport, sizeof(MultiportMatch))
enter("owner", match_owner, sizeof(OwnerMatch))
enter("pkttype", match_pkttype, sizeof(PkttypeMatch))
enter("quota", match_quota, sizeof(QuotaMatch))
enter("recent", match_recent, sizeof(RecentMatch))
enter("rpfilter", match_rpfilter, sizeof(RpfilterMatch))
enter("rt", match_rt, sizeof(RtMatch))
enter("sctp", match_sctp, sizeof(SctpMatch))
enter("set", match_set, sizeof(SetMatch))
enter("statistic", match_statistic, sizeof(StatisticMatch))
enter("tcp", match_tcp, sizeof(TcpMatch))
enter("tos", match_tos, sizeof(TosMatch))
enter("udp", match_udp, sizeof(UdpMatch))
enter("unknown", match_unknown, 0)
enter("ports_nft", match_ports_nft, sizeof(PortsNft))
