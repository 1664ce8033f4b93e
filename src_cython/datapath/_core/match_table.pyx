"""The one table of matches: a name that Match.lower uses, what evaluates it, and the size of its payload."""
from datapath._core.matches.comment cimport match_comment
from datapath._core.matches.conntrack cimport ConntrackMatch, match_conntrack
from datapath._core.matches.ecn cimport EcnMatch, match_ecn
from datapath._core.matches.hl cimport HlMatch, match_hl
from datapath._core.matches.icmp cimport IcmpMatch, match_icmp
from datapath._core.matches.iprange cimport IprangeMatch, match_iprange
from datapath._core.matches.length cimport LengthMatch, match_length
from datapath._core.matches.limit cimport LimitMatch, match_limit
from datapath._core.matches.mac cimport MacMatch, match_mac
from datapath._core.matches.mark cimport MarkMatch, match_connmark, match_mark
from datapath._core.matches.multiport cimport MultiportMatch, match_multiport
from datapath._core.matches.pkttype cimport PkttypeMatch, match_pkttype
from datapath._core.matches.statistic cimport StatisticMatch, match_statistic
from datapath._core.matches.tcp cimport TcpMatch, match_tcp
from datapath._core.matches.tos cimport TosMatch, match_tos
from datapath._core.matches.udp cimport UdpMatch, match_udp
from datapath._core.matches.unknown cimport match_unknown

MATCH_KINDS = {}


cdef void enter(str name, MatchFunction function, size_t size) except *:
    cdef int kind = len(MATCH_KINDS)
    if name in MATCH_KINDS or kind >= MATCH_KINDS_MAX:
        raise RuntimeError(f"match {name} cannot be entered")
    MATCHES[kind] = function
    MATCH_KINDS[name] = (kind, size)


enter("comment", match_comment, 0)
enter("connmark", match_connmark, sizeof(MarkMatch))
enter("conntrack", match_conntrack, sizeof(ConntrackMatch))
enter("ecn", match_ecn, sizeof(EcnMatch))
enter("hl", match_hl, sizeof(HlMatch))
enter("icmp", match_icmp, sizeof(IcmpMatch))
enter("iprange", match_iprange, sizeof(IprangeMatch))
enter("length", match_length, sizeof(LengthMatch))
enter("limit", match_limit, sizeof(LimitMatch))
enter("mac", match_mac, sizeof(MacMatch))
enter("mark", match_mark, sizeof(MarkMatch))
enter("multiport", match_multiport, sizeof(MultiportMatch))
enter("pkttype", match_pkttype, sizeof(PkttypeMatch))
enter("statistic", match_statistic, sizeof(StatisticMatch))
enter("tcp", match_tcp, sizeof(TcpMatch))
enter("tos", match_tos, sizeof(TosMatch))
enter("udp", match_udp, sizeof(UdpMatch))
enter("unknown", match_unknown, 0)
