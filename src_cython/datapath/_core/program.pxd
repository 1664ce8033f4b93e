# The compiled rules of one family (struct xt_table_info): flat arrays, made by datapath/compiler/program.py and
# copied here as they are. A program belongs to its Net; a table is replaced as a whole.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.context cimport Net, Walk
from datapath._core.tuples cimport Addr


cdef enum:
    BACKENDS = 2            # a node may run iptables-nft's tables (0) and iptables-legacy's (1) side by side
    TABLE_SLOTS = 10        # TABLES * BACKENDS
    LEGACY_TABLE = 8        # this bit in a step's table number says that it is a legacy table
    SHAPES = 4


cdef enum RuleFlag:
    RULE_NOT_SOURCE = 1
    RULE_NOT_DESTINATION = 2
    RULE_NOT_IN = 4
    RULE_NOT_OUT = 8
    RULE_NOT_PROTOCOL = 16
    RULE_FRAGMENT = 32      # -f: second and further fragments only
    RULE_NOT_FRAGMENT = 64
    RULE_UNCONDITIONAL = 128    # no condition at all and a verdict: Linux's trace takes it for the chain's end


cdef enum RuleAction:
    ACTION_NONE = 0         # no target: counts and goes on
    ACTION_VERDICT = 1      # operand: NF_*
    ACTION_RETURN = 2
    ACTION_JUMP = 3         # operand: chain
    ACTION_GOTO = 4
    ACTION_TARGET = 5       # operand: offset of an op in the arena


cdef enum HeaderPart:       # what a STEP_NOT_MATCHED names
    PART_SOURCE = 1
    PART_DESTINATION = 2
    PART_IN = 3
    PART_OUT = 4
    PART_PROTOCOL = 5
    PART_FRAGMENT = 6
    PART_UNKNOWN = 7        # the capture has cut off what the rule asks for


cdef enum RuleShape:        # by what a rule can be found without trying its neighbours
    SHAPE_SERVICE = 0       # destination address, protocol and destination port
    SHAPE_DESTINATION = 1   # destination address
    SHAPE_SOURCE = 2        # source address
    SHAPE_PORT = 3          # protocol and destination port
    SHAPE_NONE = 4


cdef struct Rule:           # 64 bytes: one cache line
    uint32_t source, source_mask            # IPv4, as in memory; IPv6: the last word, a first quick check
    uint32_t destination, destination_mask
    uint64_t packets
    uint64_t bytes
    uint16_t in_pattern     # number of an InterfacePattern, 0: any
    uint16_t out_pattern
    uint8_t protocol        # 0: any
    uint8_t flags           # RuleFlag
    uint8_t action_shape    # RuleAction, and RuleShape << 4, which is chosen when the chain's index is built
    uint8_t n_matches
    uint32_t matches        # offset of the first match in the arena
    int32_t operand
    uint32_t wide           # number of a WideAddresses, 0: none (IPv4)
    int32_t next_same       # the next rule of the chain with the same key, -1
    int32_t next_other      # the next rule of the chain that has no key, behind this one or itself, -1
    uint16_t port_low       # destination ports that the rule insists on; all of them when it does not
    uint16_t port_high


cdef inline uint8_t rule_action(const Rule* rule) noexcept nogil:
    return rule.action_shape & 15


cdef inline uint8_t rule_shape(const Rule* rule) noexcept nogil:
    return rule.action_shape >> 4


cdef inline bint rule_has_port(const Rule* rule) noexcept nogil:
    """It insists on one destination port of TCP or UDP."""
    return rule.port_low == rule.port_high


cdef struct WideAddresses:  # IPv6
    Addr source, source_mask, destination, destination_mask
    uint8_t flags           # RULE_NOT_SOURCE, RULE_NOT_DESTINATION
    uint8_t pad[7]


cdef struct InterfacePattern:
    uint64_t name[2]
    uint64_t mask[2]


cdef struct KeySlot:
    uint32_t hash
    int32_t first           # rule, -1: the slot is free


cdef struct ChainIndex:
    uint8_t has[4]
    KeySlot* slots[4]
    uint32_t mask[4]   # number of slots - 1


cdef struct Chain:
    int32_t first           # its first rule in Table.rules
    int32_t count
    int32_t policy          # NF_*; -1: a user chain
    int32_t hook            # Hook of a base chain, -1
    uint64_t packets        # of the policy
    uint64_t bytes
    ChainIndex* index       # NULL: rules are tried one after the other


cdef struct Table:
    Rule* rules
    Chain* chains
    uint8_t* arena
    WideAddresses* wide
    InterfacePattern* patterns
    char* chain_names       # 32 bytes each
    char name[32]
    int32_t n_rules
    int32_t n_chains
    uint32_t arena_size
    int32_t entry[5]        # chain by Hook, -1
    uint8_t number          # TableId, with LEGACY_TABLE
    uint8_t needs           # TableNeed bits
    uint8_t nft             # of iptables-nft: -p of a broken IPv6 packet is no reason to drop it


cdef enum TableNeed:
    NEED_CONNTRACK = 1
    NEED_NAT = 2            # it is a nat table: where connections are tracked, each gets a binding
    NEED_ACCOUNTING = 4     # nf_conntrack_acct is switched on


cdef struct Frame:          # where a RETURN goes
    int32_t chain
    int32_t rule


cdef struct Program:
    Table* tables[10]  # TableId + TABLES * backend; NULL: not loaded
    Frame* stack            # shared by all traversals in flight, which nest
    int32_t depth
    int32_t capacity
    void* compiled          # the CompiledTables by slot (a list, one reference held): names for reports


cdef int program_run(Walk* walk, int table) noexcept nogil
