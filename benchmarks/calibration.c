/* What any program must do for a packet, and nothing else: read the record, find the connection by its five-tuple in a
 * hash table that knows both directions, count, rewrite the addresses and repair two checksums. One thread; prints the
 * nanoseconds of processor time per packet, the median of RUNS. Usage: calibration FILE.pcap RUNS */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

typedef struct { uint32_t saddr, daddr; uint16_t sport, dport; uint32_t protocol; } Key;
typedef struct { Key way[2]; uint64_t packets[2], bytes[2], last_ns; uint32_t state; uint32_t pad; } Connection;
typedef struct { uint32_t mark, place; } Slot;

enum { SLOTS_BITS = 22, CONNECTIONS = 1 << 21 };
static Slot *slots;
static Connection *connections;
static uint32_t used;

static uint64_t mix(const Key *key) {
    uint64_t a, b;
    memcpy(&a, key, 8);
    memcpy(&b, (const char *)key + 8, 8);
    a = (a ^ 0x2545F4914F6CDD1DULL) * 0xD6E8FEB86659FD93ULL;
    b = (b ^ (a >> 31)) * 0xA0761D6478BD642FULL;
    return b ^ (b >> 29) ^ (a << 7);
}

static Slot *seek(const Key *key, uint64_t hash) {
    uint32_t at = hash & ((1u << SLOTS_BITS) - 1), mark = (uint32_t)(hash >> 32) | 1;
    for (;; at = (at + 1) & ((1u << SLOTS_BITS) - 1)) {
        if (!slots[at].mark) return &slots[at];
        if (slots[at].mark == mark && !memcmp(&connections[slots[at].place >> 1].way[slots[at].place & 1], key, sizeof *key))
            return &slots[at];
    }
}

static void enter(const Key *key, uint32_t place) {
    uint64_t hash = mix(key);
    Slot *slot = seek(key, hash);
    slot->mark = (uint32_t)(hash >> 32) | 1;
    slot->place = place;
}

static uint16_t repair(uint16_t sum, uint32_t old, uint32_t new) {
    uint32_t total = (uint16_t)~sum + (uint16_t)~(old >> 16) + (uint16_t)~old + (new >> 16) + (new & 0xFFFF);
    total = (total & 0xFFFF) + (total >> 16);
    return (uint16_t)~((total & 0xFFFF) + (total >> 16));
}

static uint64_t packet(const uint8_t *frame, uint32_t length, uint64_t now) {
    const uint8_t *ip = frame + 14, *tcp = ip + (ip[0] & 15) * 4;
    uint8_t copy[54];
    uint16_t check;
    Key key = {0}, back;
    if (length < 54 || frame[12] != 8 || frame[13]) return 0;
    memcpy(&key.saddr, ip + 12, 8);
    memcpy(&key.sport, tcp, 4);
    key.protocol = ip[9];
    Slot *slot = seek(&key, mix(&key));
    if (!slot->mark) {
        if (used == CONNECTIONS) return 0;
        uint32_t place = used++;
        back = (Key){key.daddr, 0xFE6433C6u, key.dport, (uint16_t)(place * 40503u), key.protocol};
        connections[place] = (Connection){{key, back}, {0}, {0}, 0, 0, 0};
        enter(&key, place << 1);
        enter(&back, place << 1 | 1);
        slot = seek(&key, mix(&key));
    }
    Connection *connection = &connections[slot->place >> 1];
    uint32_t way = slot->place & 1;
    const Key *other = &connection->way[1 - way];
    connection->packets[way]++;
    connection->bytes[way] += length;
    connection->last_ns = now;
    connection->state = connection->state * 8 + (tcp[13] & 7);
    memcpy(copy, frame, sizeof copy);
    memcpy(copy + 26, &other->daddr, 4);
    memcpy(copy + 30, &other->saddr, 4);
    memcpy(copy + 34, &other->dport, 2);
    copy[22]--;
    memcpy(&check, copy + 24, 2);
    check = repair(repair(check, key.saddr, other->daddr), key.daddr, other->saddr);
    memcpy(copy + 24, &check, 2);
    memcpy(&check, copy + 50, 2);
    check = repair(repair(repair(check, key.saddr, other->daddr), key.daddr, other->saddr), key.sport, other->dport);
    memcpy(copy + 50, &check, 2);
    return check + copy[30];
}

static int by_value(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int count, char **words) {
    struct stat about;
    int file = count > 2 ? open(words[1], O_RDONLY) : -1, runs = count > 2 ? atoi(words[2]) : 0;
    if (file < 0 || fstat(file, &about) || runs < 1 || runs > 100) return 2;
    const uint8_t *data = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    double times[100];
    uint64_t total = 0;
    for (int run = 0; run < runs; run++) {
        slots = calloc(1u << SLOTS_BITS, sizeof *slots);
        connections = malloc((size_t)CONNECTIONS * sizeof *connections);
        used = 0;
        uint64_t packets = 0;
        double start = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (const uint8_t *at = data + 24, *end = data + about.st_size; at + 16 <= end; packets++) {
            uint32_t head[4];
            memcpy(head, at, 16);
            total += packet(at + 16, head[2], head[0] * 1000000000ULL + head[1]);
            at += 16 + head[2];
        }
        times[run] = (seconds(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / packets;
        free(slots);
        free(connections);
    }
    qsort(times, runs, sizeof *times, by_value);
    printf("%.2f %llu\n", times[runs / 2], (unsigned long long)total);
    return 0;
}
