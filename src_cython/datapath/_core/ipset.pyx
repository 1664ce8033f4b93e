"""IP sets: their elements, and the question that the set match asks (net/netfilter/ipset/ip_set_core.c, ip_set_test;
ip_set_hash_gen.h, mtype_test)."""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset, strcmp, strlen, strncmp, strncpy

from datapath._core.ipset_key cimport set_key_of_packet
from datapath._core.wire cimport load_be32

cdef enum:
    FIRST_BUCKETS = 64


cdef IpSet* set_named(Net* net, const char* name) noexcept nogil:
    cdef IpSet* ipset = <IpSet*>net.sets
    while ipset != NULL and strcmp(ipset.name, name):
        ipset = ipset.next
    return ipset


cdef IpSet* set_find(Net* net, str name) except? NULL:
    """The set of this name, NULL: there is none."""
    return set_named(net, name.encode(errors="surrogateescape"))


cdef IpSet* set_existing(Net* net, str name) except NULL:
    cdef IpSet* ipset = set_find(net, name)
    if ipset == NULL:
        raise LookupError(f"set {name} does not exist")
    return ipset


cdef uint32_t key_hash(const SetKey* key) noexcept nogil:
    cdef const uint64_t* words = <const uint64_t*>key
    cdef uint64_t h = 0
    cdef int i
    for i in range(6):
        h = (h ^ words[i]) * <uint64_t>0x9FB21C651E98DF25
        h ^= h >> 32
    return <uint32_t>h


cdef bint rehash(IpSet* ipset, uint32_t buckets) noexcept nogil:
    """Another number of buckets. False: no memory."""
    cdef int32_t* fresh = <int32_t*>realloc(ipset.buckets, buckets * sizeof(int32_t))
    cdef uint32_t i, bucket
    if fresh == NULL:
        return False
    ipset.buckets = fresh
    ipset.bucket_mask = buckets - 1
    memset(fresh, 0xFF, buckets * sizeof(int32_t))
    for i in range(ipset.n_elements):
        if ipset.elements[i].used:
            bucket = key_hash(&ipset.elements[i].key) & ipset.bucket_mask
            ipset.elements[i].next = fresh[bucket]
            fresh[bucket] = <int32_t>i
    return True


cdef void count_cidr(IpSet* ipset, int which, uint8_t cidr, int change) noexcept nogil:
    """Keep the list of prefix lengths in use, longest first."""
    cdef int i
    cdef uint8_t n = 0
    ipset.cidr_count[which][cidr] += <uint32_t>change
    for i in range(129):
        if ipset.cidr_count[which][128 - i]:
            ipset.cidrs[which][n] = <uint8_t>(128 - i)
            n += 1
    ipset.n_cidrs[which] = n


cdef void count_element(IpSet* ipset, const SetElement* element, int change) noexcept nogil:
    cdef int seen = 0
    cdef int i
    for i in range(ipset.dimensions):
        if ipset.fields[i] == FIELD_NET:
            count_cidr(ipset, seen, element.key.cidr2 if seen else element.key.cidr, change)
        if ipset.fields[i] == FIELD_NET or ipset.fields[i] == FIELD_IP:
            seen += 1


cdef SetElement* element_same(IpSet* ipset, const SetElement* wanted) noexcept nogil:
    """The element with the key, interface and all, of another one."""
    cdef int32_t i = ipset.buckets[key_hash(&wanted.key) & ipset.bucket_mask]
    cdef SetElement* element
    while i >= 0:
        element = &ipset.elements[i]
        if (memcmp(&element.key, &wanted.key, sizeof(SetKey)) == 0 and memcmp(element.iface, wanted.iface, 16) == 0
                and element.physdev == wanted.physdev and element.wildcard == wanted.wildcard):
            return element
        i = element.next
    return NULL


cdef int32_t free_slot(IpSet* ipset) noexcept nogil:
    """Room for one more element; -1: no memory."""
    cdef SetElement* larger
    cdef int32_t slot = ipset.free
    if slot >= 0:
        ipset.free = ipset.elements[slot].next
        return slot
    if ipset.n_elements == ipset.capacity:
        larger = <SetElement*>realloc(ipset.elements, (ipset.capacity * 2 + 16) * sizeof(SetElement))
        if larger == NULL:
            return -1
        ipset.elements = larger
        ipset.capacity = ipset.capacity * 2 + 16
    ipset.n_elements += 1
    return <int32_t>(ipset.n_elements - 1)


cdef bint element_insert(IpSet* ipset, const SetElement* given) noexcept nogil:
    """Add an element, or put it in the place of the one that is there. False: no memory."""
    cdef SetElement* element = element_same(ipset, given)
    cdef int32_t following, slot
    cdef uint32_t bucket
    if element != NULL:
        following = element.next
        element[0] = given[0]
        element.next = following
        return True
    slot = free_slot(ipset)
    if slot < 0:
        return False
    ipset.elements[slot] = given[0]
    bucket = key_hash(&given.key) & ipset.bucket_mask
    ipset.elements[slot].next = ipset.buckets[bucket]
    ipset.buckets[bucket] = slot
    count_element(ipset, given, 1)
    ipset.used += 1
    return ipset.used <= ipset.bucket_mask or rehash(ipset, (ipset.bucket_mask + 1) * 4)


cdef bint element_remove(IpSet* ipset, const SetElement* wanted) noexcept nogil:
    cdef SetElement* element = element_same(ipset, wanted)
    cdef int32_t* at = &ipset.buckets[key_hash(&wanted.key) & ipset.bucket_mask]
    if element == NULL:
        return False
    while &ipset.elements[at[0]] != element:
        at = &ipset.elements[at[0]].next
    at[0] = element.next
    count_element(ipset, element, -1)
    element.used = 0
    ipset.used -= 1
    element.next = ipset.free
    ipset.free = <int32_t>(element - ipset.elements)
    return True


cdef bint counter_fits(uint64_t value, uint8_t op, uint64_t wanted) noexcept nogil:
    """ip_set_match_counter."""
    if op == COUNTER_EQ:
        return value == wanted
    if op == COUNTER_NE:
        return value != wanted
    if op == COUNTER_LT:
        return value < wanted
    if op == COUNTER_GT:
        return value > wanted
    return True


cdef bint extensions_fit(const IpSet* ipset, SetElement* element, Walk* walk, const SetQuestion* question) noexcept nogil:
    """ip_set_match_extensions: not run out; counts the packet; the counters are as wanted."""
    if element.expires_ns and element.expires_ns <= walk.net.now_ns:
        return False
    if not ipset.counters:
        return True
    if not question.flags & SET_SKIP_COUNTERS:
        element.packets += 1
        element.bytes += walk.pkt.len
    if not question.flags & SET_MATCH_COUNTERS:
        return True
    return (counter_fits(element.packets, question.packets_op, question.packets)
            and counter_fits(element.bytes, question.bytes_op, question.bytes))


cdef bint interface_fits(const SetElement* element, const char* iface) noexcept nogil:
    if element.physdev:     # the bridge port is not known here: a packet that did not come over a bridge never fits
        return False
    if element.wildcard:
        return strncmp(element.iface, iface, strlen(element.iface)) == 0
    return strncmp(element.iface, iface, 16) == 0


cdef bint mac_fits(SetElement* element, const uint8_t* mac) noexcept nogil:
    """bitmap:ip,mac: an address that was added alone takes the first MAC that comes with it."""
    if not element.has_mac:
        memcpy(element.mac, mac, 6)
        element.has_mac = 1
        return True
    return memcmp(element.mac, mac, 6) == 0


cdef int probe(IpSet* ipset, Walk* walk, const SetQuestion* question, const SetKey* key, const char* iface, const uint8_t* mac,
               bint* owned) noexcept nogil:
    """The elements with exactly this key. *owned: the network is there, if for other interfaces only."""
    cdef int32_t i = ipset.buckets[key_hash(key) & ipset.bucket_mask]
    cdef SetElement* element
    while i >= 0:
        element = &ipset.elements[i]
        i = element.next
        if memcmp(&element.key, key, sizeof(SetKey)):
            continue
        owned[0] = iface != NULL
        if iface != NULL and not interface_fits(element, iface):
            continue
        if mac != NULL and not mac_fits(element, mac):
            continue
        if extensions_fit(ipset, element, walk, question):
            return SET_NOMATCH if element.nomatch else SET_YES
        owned[0] = False
    return SET_NO


cdef void cut_to(Addr* addr, const Addr* whole, uint8_t length, uint8_t family) noexcept nogil:
    """The network of an address."""
    cdef int n = 4 if family == 4 else 16
    cdef int i, bits
    memset(addr, 0, sizeof(Addr))
    for i in range(n):
        bits = length - 8 * i
        if bits <= 0:
            break
        addr.b[i] = whole.b[i] if bits >= 8 else <uint8_t>(whole.b[i] & (0xFF << (8 - bits)))


cdef int test_networks(IpSet* ipset, Walk* walk, const SetQuestion* question, const SetKey* key, const char* iface) noexcept nogil:
    """mtype_test_cidrs: every pair of prefix lengths in use, longest first. A network that is there for other interfaces ends it."""
    cdef SetKey tried = key[0]
    cdef int first_nets = ipset.n_cidrs[0]
    cdef int second_nets = ipset.n_cidrs[1]
    cdef int i, j, answer
    cdef bint owned = False
    for i in range(first_nets if first_nets else 1):
        if first_nets:
            tried.cidr = ipset.cidrs[0][i]
            cut_to(&tried.ip, &key.ip, tried.cidr, walk.family)
        for j in range(second_nets if second_nets else 1):
            if second_nets:
                tried.cidr2 = ipset.cidrs[1][j]
                cut_to(&tried.ip2, &key.ip2, tried.cidr2, walk.family)
            answer = probe(ipset, walk, question, &tried, iface, NULL, &owned)
            if answer != SET_NO or owned:
                return answer
    return SET_NO


cdef int test_list(IpSet* ipset, Walk* walk, const SetQuestion* question) noexcept nogil:
    """list_set_ktest: its members in order."""
    cdef SetQuestion inner = question[0]
    cdef uint32_t i
    cdef int answer
    inner.flags &= <uint8_t>~SET_MATCH_COUNTERS
    if inner.flags & SET_SKIP_SUBCOUNTERS:
        inner.flags |= SET_SKIP_COUNTERS
    for i in range(ipset.n_members):
        if ipset.elements[i].expires_ns and ipset.elements[i].expires_ns <= walk.net.now_ns:
            continue
        answer = set_test(ipset.members[i], walk, &inner)
        if answer == SET_UNKNOWN:
            return answer
        if answer == SET_YES and extensions_fit(ipset, &ipset.elements[i], walk, question):
            return SET_YES
    return SET_NO


cdef int set_test(IpSet* ipset, Walk* walk, const SetQuestion* question) noexcept nogil:
    """SET_YES, SET_NO or SET_UNKNOWN (ip_set_test)."""
    cdef SetKey key
    cdef char iface[16]
    cdef uint8_t mac[6]
    cdef int answer
    cdef uint32_t number
    cdef bint has_iface = ipset.dimensions == 2 and ipset.fields[1] == FIELD_IFACE
    cdef bint owns_mac = ipset.bitmap and ipset.dimensions == 2
    cdef bint owned = False
    if question.dimensions < ipset.dimensions or (ipset.family and ipset.family != walk.family):
        return SET_NO
    if ipset.fields[0] == FIELD_SET:
        return test_list(ipset, walk, question)
    answer = set_key_of_packet(ipset, walk, question, &key, iface)
    if answer != SET_YES:
        return answer
    if ipset.bitmap:
        number = key.port if ipset.fields[0] == FIELD_BARE_PORT else load_be32(key.ip.b)
        if not ipset.first <= number <= ipset.last:
            return SET_NO
    if owns_mac:
        memcpy(mac, key.mac, 6)
        memset(key.mac, 0, 6)
    if ipset.n_cidrs[0] or ipset.n_cidrs[1]:
        answer = test_networks(ipset, walk, question, &key, iface if has_iface else NULL)
    else:
        answer = probe(ipset, walk, question, &key, iface if has_iface else NULL, mac if owns_mac else NULL, &owned)
    if question.flags & SET_RETURN_NOMATCH and answer != SET_NO:
        return SET_YES if answer == SET_NOMATCH else SET_NO
    return SET_NO if answer == SET_NOMATCH else answer


cdef bint element_of_packet(IpSet* ipset, Walk* walk, const SetQuestion* question, SetElement* element) noexcept nogil:
    """The element that the packet stands for: a network gets the longest prefix length in use (INIT_CIDR). False: none."""
    cdef uint8_t whole = 32 if walk.family == 4 else 128
    cdef uint32_t number
    cdef int seen = 0
    cdef int i
    cdef Addr addr
    if question.dimensions < ipset.dimensions or (ipset.family and ipset.family != walk.family):
        return False
    memset(element, 0, sizeof(SetElement))
    if set_key_of_packet(ipset, walk, question, &element.key, element.iface) != SET_YES:
        return False
    if ipset.bitmap:
        number = element.key.port if ipset.fields[0] == FIELD_BARE_PORT else load_be32(element.key.ip.b)
        if not ipset.first <= number <= ipset.last:
            return False
        if ipset.dimensions == 2:
            memcpy(element.mac, element.key.mac, 6)
            memset(element.key.mac, 0, 6)
            element.has_mac = 1
    elif ipset.fields[0] == FIELD_IP and ipset.dimensions < 3 and element.key.ip.q[0] == 0 and element.key.ip.q[1] == 0:
        return False
    for i in range(ipset.dimensions):
        if ipset.fields[i] == FIELD_NET and seen:
            element.key.cidr2 = ipset.cidrs[1][0] if ipset.n_cidrs[1] else whole
            addr = element.key.ip2
            cut_to(&element.key.ip2, &addr, element.key.cidr2, walk.family)
        elif ipset.fields[i] == FIELD_NET:
            element.key.cidr = ipset.cidrs[0][0] if ipset.n_cidrs[0] else whole
            addr = element.key.ip
            cut_to(&element.key.ip, &addr, element.key.cidr, walk.family)
        seen += ipset.fields[i] == FIELD_NET or ipset.fields[i] == FIELD_IP
    element.used = 1
    return True


cdef void drop_expired(IpSet* ipset, uint64_t now_ns) noexcept nogil:
    """Make room in a full set."""
    cdef uint32_t i
    cdef SetElement gone
    for i in range(ipset.n_elements):
        if ipset.elements[i].used and ipset.elements[i].expires_ns and ipset.elements[i].expires_ns <= now_ns:
            gone = ipset.elements[i]
            element_remove(ipset, &gone)


cdef bint set_add_packet(IpSet* ipset, Walk* walk, const SetQuestion* question) noexcept nogil:
    """ip_set_add with mtype_add. False: nothing was added."""
    cdef SetElement element
    cdef SetElement* there
    cdef uint64_t timeout = ipset.timeout_ns if question.timeout_ns == <uint64_t>0xFFFFFFFFFFFFFFFF else question.timeout_ns
    cdef uint64_t now = walk.net.now_ns
    cdef uint32_t i
    if ipset.fields[0] == FIELD_SET:
        for i in range(ipset.n_members):
            if set_add_packet(ipset.members[i], walk, question):
                return True
        return False
    if not element_of_packet(ipset, walk, question, &element):
        return False
    there = element_same(ipset, &element)
    if there != NULL and not question.flags & SET_EXIST and (there.expires_ns == 0 or there.expires_ns > now):
        return False
    if there == NULL and not ipset.bitmap and ipset.used >= ipset.most:
        drop_expired(ipset, now)
        if ipset.used >= ipset.most:
            return False
    element.expires_ns = now + timeout if timeout and ipset.with_timeout else 0
    element.packets = 1
    element.bytes = walk.pkt.len
    return element_insert(ipset, &element)


cdef bint set_delete_packet(IpSet* ipset, Walk* walk, const SetQuestion* question) noexcept nogil:
    """ip_set_del with mtype_del. False: nothing was there."""
    cdef SetElement element
    cdef uint32_t i
    if ipset.fields[0] == FIELD_SET:
        for i in range(ipset.n_members):
            if set_delete_packet(ipset.members[i], walk, question):
                return True
        return False
    return element_of_packet(ipset, walk, question, &element) and element_remove(ipset, &element)


cdef void set_empty(IpSet* ipset) noexcept nogil:
    cdef uint32_t i
    for i in range(ipset.n_members):
        ipset.members[i].refs -= 1
    ipset.n_members = 0
    ipset.n_elements = ipset.used = 0
    ipset.free = -1
    memset(ipset.n_cidrs, 0, sizeof(ipset.n_cidrs))
    memset(ipset.cidr_count, 0, sizeof(ipset.cidr_count))
    memset(ipset.buckets, 0xFF, (ipset.bucket_mask + 1) * sizeof(int32_t))


cdef void set_release(IpSet* ipset) noexcept nogil:
    set_empty(ipset)
    free(ipset.members)
    free(ipset.elements)
    free(ipset.buckets)
    free(ipset)


cdef void sets_free(Net* net) noexcept nogil:
    """Give back every set, when no rule is left that could refer to one."""
    cdef IpSet* ipset
    ipset = <IpSet*>net.sets
    while ipset != NULL:    # lists let go of their members while these are still there
        ipset.n_members = 0
        ipset = ipset.next
    while net.sets != NULL:
        ipset = <IpSet*>net.sets
        net.sets = <void*>ipset.next
        set_release(ipset)


cdef void sets_start(Net* net) noexcept nogil:
    """The first packet: the time of loaded timeouts begins."""
    cdef IpSet* ipset = <IpSet*>net.sets
    cdef uint32_t i
    while ipset != NULL:
        if ipset.waiting:
            ipset.waiting = 0
            for i in range(ipset.n_elements):
                if ipset.elements[i].expires_ns:
                    ipset.elements[i].expires_ns += net.now_ns
        ipset = ipset.next


cdef int set_create(Net* net, dict given) except -1:
    """A new, empty set: name, family, fields, mask (16 bytes), and for some types range, mark_mask, counters."""
    cdef IpSet* ipset
    cdef bytes name = given["name"].encode(errors="surrogateescape")
    cdef bytes mask = given["mask"]
    cdef int i
    if set_named(net, name) != NULL:
        raise ValueError(f"set {given['name']} exists already")
    ipset = <IpSet*>calloc(1, sizeof(IpSet))
    if ipset == NULL:
        raise MemoryError
    strncpy(ipset.name, name, sizeof(ipset.name) - 1)
    ipset.family = given["family"]
    ipset.dimensions = <uint8_t>len(given["fields"])
    for i in range(ipset.dimensions):
        ipset.fields[i] = given["fields"][i]
    memcpy(&ipset.mask, <const char*>mask, sizeof(Addr))
    ipset.mark_mask = given.get("mark_mask", 0xFFFFFFFF)
    ipset.bitmap = "range" in given
    ipset.first, ipset.last = given.get("range", (0, 0))
    ipset.counters = given.get("counters", False)
    ipset.waiting = net.now_ns == 0
    ipset.free = -1
    ipset.next = <IpSet*>net.sets
    net.sets = <void*>ipset
    ipset.most = given.get("most", 65536)
    ipset.with_timeout = "timeout_ns" in given
    ipset.timeout_ns = given.get("timeout_ns", 0)
    if not rehash(ipset, FIRST_BUCKETS):
        raise MemoryError
    return 0


cdef int element_of_row(SetElement* element, object row) except -1:
    """An element from a row of datapath/model/ipset.py: (key, iface, mac or None, flags, packets, bytes, left in ns or 0)."""
    key, iface, mac, flags, packets, octets, left_ns = row
    cdef bytes packed = key
    cdef bytes name = iface
    cdef bytes address = mac or bytes(6)
    if len(packed) != sizeof(SetKey):
        raise ValueError(f"a key of {len(packed)} bytes: expected {sizeof(SetKey)}")
    memset(element, 0, sizeof(SetElement))
    memcpy(&element.key, <const char*>packed, sizeof(SetKey))
    strncpy(element.iface, name, 15)
    memcpy(element.mac, <const char*>address, 6)
    element.has_mac = mac is not None
    element.nomatch, element.physdev, element.wildcard = flags
    element.packets, element.bytes, element.expires_ns = packets, octets, left_ns
    element.used = 1
    return 0


cdef int add_member(Net* net, IpSet* ipset, str name, const SetElement* element) except -1:
    """A set into a list:set."""
    cdef IpSet* member = set_existing(net, name)
    cdef IpSet** members = <IpSet**>realloc(ipset.members, (ipset.n_members + 1) * sizeof(IpSet*))
    cdef SetElement* elements
    if members == NULL:
        raise MemoryError
    ipset.members = members
    elements = <SetElement*>realloc(ipset.elements, (ipset.n_members + 1) * sizeof(SetElement))
    if elements == NULL:
        raise MemoryError
    ipset.elements = elements
    members[ipset.n_members] = member
    elements[ipset.n_members] = element[0]
    member.refs += 1
    ipset.n_members += 1
    ipset.n_elements = ipset.capacity = ipset.n_members
    return 0


cdef int set_add(Net* net, str name, object rows) except -1:
    """Add elements; rows of a list:set begin with a name instead of a key."""
    cdef IpSet* ipset = set_existing(net, name)
    cdef SetElement element
    for row in rows:
        if ipset.fields[0] == FIELD_SET:
            element_of_row(&element, (bytes(sizeof(SetKey)), *row[1:]))
        else:
            element_of_row(&element, row)
        if element.expires_ns and not ipset.waiting:
            element.expires_ns += net.now_ns
        if ipset.fields[0] == FIELD_SET:
            add_member(net, ipset, row[0], &element)
        elif not element_insert(ipset, &element):
            raise MemoryError
    return 0


cdef int set_delete(Net* net, str name, object rows) except -1:
    """Take elements out; how many were there."""
    cdef IpSet* ipset = set_existing(net, name)
    cdef SetElement element
    cdef int removed = 0
    for row in rows:
        element_of_row(&element, row)
        removed += element_remove(ipset, &element)
    return removed


cdef int set_flush(Net* net, str name) except -1:
    """Take everything out."""
    set_empty(set_existing(net, name))
    return 0


cdef int set_destroy(Net* net, str name) except -1:
    """Take the set away. ValueError: something refers to it."""
    cdef IpSet* ipset = set_existing(net, name)
    cdef IpSet* before = <IpSet*>net.sets
    if ipset.refs:
        raise ValueError(f"set {name} cannot be destroyed: it is in use")
    if before == ipset:
        net.sets = <void*>ipset.next
    else:
        while before.next != ipset:
            before = before.next
        before.next = ipset.next
    set_release(ipset)
    return 0


cdef object sets_export(Net* net):
    """{name: [(key, iface, mac or None, (nomatch, physdev, wildcard), packets, bytes, left in ns or 0), ...]}; expired ones are left out."""
    cdef IpSet* ipset = <IpSet*>net.sets
    cdef SetElement* element
    cdef uint32_t i
    sets = {}
    while ipset != NULL:
        rows = []
        for i in range(ipset.n_elements):
            element = &ipset.elements[i]
            if not element.used or (element.expires_ns and element.expires_ns <= net.now_ns):
                continue
            head = ipset.members[i].name.decode() if ipset.n_members else (<const char*>&element.key)[:sizeof(SetKey)]
            rows.append((
                head, (<const char*>element.iface), (<const char*>element.mac)[:6] if element.has_mac else None,
                (element.nomatch, element.physdev, element.wildcard), element.packets, element.bytes,
                element.expires_ns - net.now_ns if element.expires_ns else 0))
        sets[ipset.name.decode(errors="surrogateescape")] = rows
        ipset = ipset.next
    return sets
