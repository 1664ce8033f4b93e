"""Bulk replay: the records of a pcap file straight into the walk.

A frame to the link address of a device of the node is received there, one from such an address has left the node and is
passed over, and any other is received on the device that was given. Nothing is compared and no draw is looked up ahead:
that is what `datapath.capture.replay` is for.
"""
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from datapath._core.ct_ahead cimport AHEAD, ahead_see, ahead_step
from datapath._core.ct_view cimport view_start
from datapath._core.offload cimport offload_allow
from datapath._core.output cimport OutputFrame, Outputs
from datapath._core.packet cimport Packet
from datapath._core.pool cimport packet_free, packet_new, packet_reserve
from datapath._core.recent cimport recent_start
from datapath._core.record cimport RECORD_NOTHING, RECORD_PATH, recorder_begin, recorder_path
from datapath._core.walk cimport walk_advance, walk_receive

cdef enum:
    RECORD_HEADER = 16
    RECORD_MAX = 262144     # as capture/pcap.py
    NOT_PLAYED = -2
    BLOCK_OVERHEAD = 32 + 12    # of an enhanced packet block with its flags option
    FLAGS_OUTBOUND = 2


cdef inline uint32_t load_u32(const uint8_t* p, bint swapped) noexcept nogil:
    cdef uint32_t value = 0
    memcpy(&value, p, 4)
    if swapped:
        value = (value >> 24) | ((value >> 8) & 0xFF00) | ((value << 8) & 0xFF0000) | (value << 24)
    return value


cdef inline bint bytes_reserve(Bytes* bytes, uint64_t n) noexcept nogil:
    cdef uint8_t* larger
    cdef uint64_t size
    if bytes.size - bytes.used >= n:
        return True
    size = (bytes.size + n) * 2
    larger = <uint8_t*>realloc(bytes.data, size)
    if larger == NULL:
        return False
    bytes.data = larger
    bytes.size = size
    return True


cdef inline void put_u32(uint8_t* p, uint32_t value) noexcept nogil:
    memcpy(p, &value, 4)


cdef bint paths_grow(Paths* paths) noexcept nogil:
    cdef uint32_t capacity = paths.capacity * 2 if paths.capacity else 256
    cdef Path* larger = <Path*>realloc(paths.paths, capacity * sizeof(Path))
    cdef uint32_t* slots
    cdef uint32_t i, at
    if larger == NULL:
        return False
    paths.paths = larger
    slots = <uint32_t*>calloc(capacity * 2, sizeof(uint32_t))
    if slots == NULL:
        return False
    free(paths.slots)
    paths.slots = slots
    paths.capacity = capacity
    paths.mask = capacity * 2 - 1
    for i in range(paths.count):
        at = <uint32_t>paths.paths[i].hash & paths.mask
        while slots[at]:
            at = (at + 1) & paths.mask
        slots[at] = i + 1
    return True


cdef class BulkPlayer:
    """Plays records through a node. `device` is where frames come in that are for no device's own link address, -1: nowhere.

    `link`: frames have an Ethernet header. With `paths` each record's path is kept, with `frames` what leaves is kept as
    pcapng blocks.
    """

    def __cinit__(self, NetNamespace node not None, *, int device=-1, bint link=True, bint swapped=False, unsigned int unit_ns=1000,
                  bint paths=False, bint frames=False):
        self.node = node
        self.net = &node.net
        self.device = device
        self.latest = device
        self.link = link
        self.swapped = swapped
        self.unit_ns = unit_ns
        self.with_paths = paths
        self.with_frames = frames
        memset(&self.paths, 0, sizeof(Paths))
        memset(&self.numbers, 0, sizeof(Bytes))
        memset(&self.blocks, 0, sizeof(Bytes))

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.paths.count):
            free(self.paths.paths[i].steps)
        free(self.paths.paths)
        free(self.paths.slots)
        free(self.numbers.data)
        free(self.blocks.data)

    def play(self, const uint8_t[::1] data not None) -> int:
        """Play the whole records at the start of `data`; how many bytes they took. Raises ValueError for a damaged one."""
        cdef const uint8_t* p
        cdef uint64_t size = <uint64_t>data.shape[0]
        cdef uint64_t at = 0
        cdef uint64_t seen = 0      # where the record begins that is looked at ahead of its turn
        cdef uint64_t time_ns = 0
        cdef CtAhead ahead
        cdef int _i
        cdef uint32_t caplen = 0
        cdef bint ok = True
        cdef uint8_t level = self.net.recorder.level
        if size < RECORD_HEADER:
            return 0
        p = &data[0]
        self.net.recorder.level = RECORD_PATH if self.with_paths else RECORD_NOTHING
        memset(&ahead, 0, sizeof(CtAhead))
        for _i in range(AHEAD):
            seen = self.look_ahead(&ahead, p, size, seen)
            ahead.place += 1
        with nogil:
            while at + RECORD_HEADER <= size:
                seen = self.look_ahead(&ahead, p, size, seen)
                ahead_step(self.net, &ahead)
                caplen = load_u32(p + at + 8, self.swapped)
                if caplen > RECORD_MAX:
                    ok = False
                    break
                if at + RECORD_HEADER + caplen > size:
                    break
                time_ns = <uint64_t>load_u32(p + at, self.swapped) * 1000000000 + <uint64_t>load_u32(p + at + 4, self.swapped) * self.unit_ns
                self.records += 1
                if not self.play_record(p + at + RECORD_HEADER, caplen, load_u32(p + at + 12, self.swapped), time_ns):
                    with gil:
                        raise MemoryError
                at += RECORD_HEADER + caplen
        self.net.recorder.level = level
        if not ok:
            raise ValueError(f"record {self.records + 1} claims {caplen} captured bytes: expected at most {RECORD_MAX}")
        return at

    cdef uint64_t look_ahead(self, CtAhead* ahead, const uint8_t* p, uint64_t size, uint64_t seen) noexcept nogil:
        """Let the lookup of a later record be prepared; where the next one begins."""
        cdef uint32_t caplen
        if seen + RECORD_HEADER > size:
            return seen
        caplen = load_u32(p + seen + 8, self.swapped)
        if caplen > RECORD_MAX or seen + RECORD_HEADER + caplen > size:
            return size
        ahead_see(self.net, ahead, p + seen + RECORD_HEADER, caplen, self.link)
        return seen + RECORD_HEADER + caplen

    cdef int32_t find_device(self, const uint8_t* frame, uint32_t length) noexcept nogil:
        """The device that a frame is for; NOT_PLAYED: one from the node itself."""
        cdef Net* net = self.net
        cdef int32_t i
        if not self.link or length < 12:
            return self.device
        if self.latest >= 0 and memcmp(frame, net.devices[self.latest].mac, 6) == 0:
            return self.latest
        for i in range(<int32_t>net.n_devices):
            if net.devices[i].has_link_header and memcmp(frame, net.devices[i].mac, 6) == 0:
                self.latest = i
                return i
        for i in range(<int32_t>net.n_devices):
            if net.devices[i].has_link_header and memcmp(frame + 6, net.devices[i].mac, 6) == 0:
                self.left += 1
                return NOT_PLAYED
        if self.device < 0:
            self.strangers += 1
            return NOT_PLAYED
        return self.device

    cdef bint play_record(self, const uint8_t* frame, uint32_t caplen, uint32_t length, uint64_t time_ns) noexcept nogil:
        cdef Net* net = self.net
        cdef Outputs* outputs = <Outputs*>net.outputs
        cdef Packet* pkt
        cdef int32_t device = self.find_device(frame, caplen)
        if device < 0:
            return True
        pkt = packet_new(net)
        if pkt == NULL or not packet_reserve(pkt, caplen):
            packet_free(net, pkt)
            return False
        memcpy(pkt.head + pkt.mac, frame, caplen)
        pkt.present = caplen
        pkt.len = length if length > caplen else caplen
        pkt.main = 1
        pkt.dev = device
        pkt.serial = self.records
        recorder_begin(&net.recorder)
        net.outcome = 0
        net.drop_reason = 0
        net.error = 0
        walk_advance(net, time_ns)
        if self.received == 0:
            view_start(net)
            recent_start(net)
        self.received += 1
        if not net.strict:
            offload_allow(net, pkt, self.link)
        walk_receive(net, pkt)
        self.outcomes[net.outcome & 7] += 1
        if self.with_paths and self.note_path() < 0:
            return False
        if self.with_frames and outputs.count and self.note_frames(time_ns) < 0:
            return False
        outputs.count = 0
        outputs.used = 0
        return True

    cdef int note_path(self) noexcept nogil:
        """Keep the number of the way that the packet took; a new way is stored with its steps. -1: no memory."""
        cdef Paths* paths = &self.paths
        cdef uint64_t hash = recorder_path(&self.net.recorder)
        cdef uint32_t at
        cdef Path* path
        if paths.count == paths.capacity and not paths_grow(paths):
            return -1
        at = <uint32_t>hash & paths.mask
        while paths.slots[at] and paths.paths[paths.slots[at] - 1].hash != hash:
            at = (at + 1) & paths.mask
        if paths.slots[at] == 0:
            path = &paths.paths[paths.count]
            path.hash = hash
            path.packets = 0
            path.n_steps = self.net.recorder.count
            path.steps = <Step*>malloc(max(path.n_steps, 1) * sizeof(Step))
            if path.steps == NULL:
                return -1
            memcpy(path.steps, self.net.recorder.steps, path.n_steps * sizeof(Step))
            paths.count += 1
            paths.slots[at] = paths.count
        path = &paths.paths[paths.slots[at] - 1]
        path.packets += 1
        if not bytes_reserve(&self.numbers, 4):
            return -1
        put_u32(self.numbers.data + self.numbers.used, paths.slots[at] - 1)
        self.numbers.used += 4
        return 0

    cdef int note_frames(self, uint64_t time_ns) noexcept nogil:
        """Frames that left as enhanced packet blocks; an interface's number is its device's. -1: no memory."""
        cdef Outputs* outputs = <Outputs*>self.net.outputs
        cdef OutputFrame* frame
        cdef uint32_t i, padded, total
        cdef uint8_t* p
        for i in range(outputs.count):
            frame = &outputs.frames[i]
            padded = (frame.length + 3) & ~<uint32_t>3
            total = padded + BLOCK_OVERHEAD
            if not bytes_reserve(&self.blocks, total):
                return -1
            p = self.blocks.data + self.blocks.used
            put_u32(p, 6)
            put_u32(p + 4, total)
            put_u32(p + 8, <uint32_t>frame.dev)
            put_u32(p + 12, <uint32_t>(time_ns >> 32))
            put_u32(p + 16, <uint32_t>time_ns)
            put_u32(p + 20, frame.length)
            put_u32(p + 24, frame.length)
            memcpy(p + 28, outputs.bytes + frame.offset, frame.length)
            memset(p + 28 + frame.length, 0, padded - frame.length)
            p += 28 + padded
            put_u32(p, 2 | 4 << 16)         # option 2 (flags), 4 bytes
            put_u32(p + 4, FLAGS_OUTBOUND)
            put_u32(p + 8, 0)               # end of options
            put_u32(p + 12, total)
            self.blocks.used += total
        return 0

    def counts(self) -> dict:
        """Records, those received, those that had left the node, those for no device; and how the walks ended, by Outcome."""
        return {
            "records": self.records, "received": self.received, "left": self.left, "strangers": self.strangers,
            "outcomes": [self.outcomes[i] for i in range(8)],
        }

    def take_path_numbers(self) -> bytes:
        """Of each record played since the last time, in order, the number of its path: 32-bit words in native order."""
        cdef bytes taken = (<char*>self.numbers.data)[:self.numbers.used] if self.numbers.used else b""
        self.numbers.used = 0
        return taken

    def take_frames(self) -> bytes:
        """What left since the last time, as pcapng blocks of interfaces that are numbered as the devices."""
        cdef bytes taken = (<char*>self.blocks.data)[:self.blocks.used] if self.blocks.used else b""
        self.blocks.used = 0
        return taken

    def path_list(self) -> list:
        """By number: (packets, raw steps of the first of them)."""
        cdef uint32_t i, j
        cdef Path* path
        cdef Step* step
        cdef list found = []
        for i in range(self.paths.count):
            path = &self.paths.paths[i]
            steps = []
            for j in range(path.n_steps):
                step = &path.steps[j]
                steps.append((step.kind, step.hook, step.table, step.arg, step.a, step.b, step.depth, step.value))
            found.append((path.packets, steps))
        return found
