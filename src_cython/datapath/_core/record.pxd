# What a walk writes down. A step is 24 bytes; the steps of a packet are equal for all packets that take the
# same way, so that in bulk a way is stored once ("interned") and a packet keeps its number.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.tuples cimport Addr


cpdef enum RecordLevel:
    RECORD_NOTHING = 0      # counters only
    RECORD_PATH = 1         # the interned path per packet
    RECORD_STEPS = 2        # every step, with the facts that differ from packet to packet (STEP_DETAIL kinds)
    RECORD_WHY = 3          # and for each rule tried that did not match, the first condition that failed


cpdef enum StepKind:  # mirrored by datapath/report/steps.py
    STEP_NONE = 0
    STEP_RECEIVE = 1        # a = device; arg = PacketType
    STEP_LOCAL_SEND = 2     # a = device asked for or -1
    STEP_HOOK = 3           # a hook begins; hook is set; arg = family; a = in device, value = out device
    STEP_RULE = 4           # a rule matched: table, a = chain, b = rule (from 1), arg = what it did (Verdict)
    STEP_RETURN = 5         # the end of a user chain (or RETURN): table, a = chain left, b = rules it has
    STEP_POLICY = 6         # a base chain's end: table, a = chain, b = rules it has, arg = Verdict
    STEP_NOT_MATCHED = 7    # RECORD_WHY: table, a = chain, b = rule, arg = 0: its header (value = HeaderPart), else 1 + the match's number
    STEP_ROUTE = 8          # a routing decision: a = number of the route in the host's file, b = policy rule, arg = RouteType, value = out device
    STEP_CONNTRACK = 9      # arg = CtInfo, a = how (CtHow), value = entry id (detail)
    STEP_NAT = 10           # arg = 0 source, 1 destination; a = place in NatTable.rules or -1 (null binding), b = 1: decided by the entry
    STEP_DEFRAG = 11        # arg = 0 kept back, 1 whole again
    STEP_DROP = 12          # arg = DropReason
    STEP_OUTPUT = 13        # a = device, value = number of the frame (detail)
    STEP_DELIVER = 14       # to the local stack
    STEP_GENERATE = 15      # the kernel makes a packet: arg = its protocol, a = type, b = code
    STEP_NEIGHBOUR = 16     # arg = 0 resolved, 1 asked and queued, 2 failed
    STEP_LOG = 17           # a line: arg = LogKind, value = offset << 32 | length in Recorder.text (detail)
    STEP_UNKNOWN = 18       # a rule that is not emulated would have decided: table, a = chain, b = rule
    STEP_DRAW = 19          # arg = DrawKind, a = 1: taken from the capture, value = what was drawn (detail)
    STEP_MARK = 20          # the packet's mark changed: value = new mark
    STEP_IPVS = 21          # arg = what (IpvsStep), a = service, b = real server
    STEP_DEVICE = 22        # passes through a stacked device: a = device, arg = 0 in, 1 out
    STEP_FRAGMENT = 23      # cut on the way out: a = number of fragments
    STEP_REWRITE = 24       # an end of the packet changed: arg = 0 source, 1 destination; value = place in Recorder.rewrites (detail)


cdef struct Step:
    uint8_t kind            # StepKind
    uint8_t hook
    uint8_t table
    uint8_t arg
    int32_t a
    int32_t b
    uint32_t depth          # 0: the packet itself; 1..: packets made on its account (errors, resets, loopback passes)
    uint64_t value          # a detail, which differs between packets of one path, is 0 at RECORD_PATH


cdef struct Rewrite:
    Addr before
    Addr after
    uint16_t before_key     # port or ICMP id
    uint16_t after_key
    uint8_t family
    uint8_t protocol


cdef struct Recorder:
    uint8_t level           # RecordLevel
    uint32_t depth          # of the packet that walks now
    uint32_t count          # steps of the packet that walks now
    uint32_t capacity
    Step* steps
    Rewrite* rewrites       # of the packet that walks now; only from RECORD_STEPS on
    uint32_t n_rewrites
    uint32_t rewrites_size
    char* text              # the log lines of the packet that walks now, one behind the other (nf_log.pyx)
    uint32_t text_used
    uint32_t text_size
    uint64_t rules_tried    # over all packets: rules that Linux would have tried


cdef int recorder_init(Recorder* rec) except -1
cdef void recorder_free(Recorder* rec) noexcept nogil
cdef void recorder_grow(Recorder* rec) noexcept nogil
cdef Rewrite* recorder_rewrite(Recorder* rec) noexcept nogil    # a new place in rewrites, NULL: none kept


cdef inline void recorder_begin(Recorder* rec) noexcept nogil:
    rec.count = 0
    rec.n_rewrites = 0
    rec.text_used = 0
    rec.depth = 0


cdef inline void record(Recorder* rec, uint8_t kind, uint8_t hook, uint8_t table, uint8_t arg, int32_t a, int32_t b,
                        uint64_t value, bint detail) noexcept nogil:
    """Write a step. `detail` says that value differs between packets of one path."""
    cdef Step* step
    if rec.level == RECORD_NOTHING:
        return
    if rec.count == rec.capacity:
        recorder_grow(rec)
        if rec.count == rec.capacity:
            return
    step = &rec.steps[rec.count]
    rec.count += 1
    step.kind = kind
    step.hook = hook
    step.table = table
    step.arg = arg
    step.a = a
    step.b = b
    step.depth = rec.depth
    step.value = 0 if detail and rec.level == RECORD_PATH else value


cdef inline uint64_t recorder_path(const Recorder* rec) noexcept nogil:
    """The identity of the way that the packet took (RECORD_PATH): equal for equal steps, their details apart.

    A step is three words that are multiplied independently of each other, so that it costs a few cycles.
    """
    cdef const uint64_t* words = <const uint64_t*>rec.steps
    cdef uint64_t h = 0x243F6A8885A308D3
    cdef uint32_t _i
    for _i in range(rec.count):
        h = (h ^ (words[0] * <uint64_t>0x9E3779B97F4A7C15 + words[1] * <uint64_t>0xC2B2AE3D27D4EB4F + words[2] * <uint64_t>0x165667B19E3779F9)) \
            * <uint64_t>0xD6E8FEB86659FD93
        h ^= h >> 32
        words += 3
    return h
