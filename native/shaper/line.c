/* The delay line: when each frame leaves. */
#include "shaper.h"
#include <linux/if_packet.h>
#include <sys/socket.h>

/* All waiting frames. The frame that leaves next is the first. */
static struct packet **heap;
static size_t count, room, held;
static uint64_t order;

/* Frames on their way to one device. */
static struct mmsghdr messages[BATCH];
static struct iovec pieces[BATCH];
static struct direction *senders[BATCH];
static struct packet *owned[BATCH];
static unsigned pending;

static uint64_t mix(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void flow_seed(struct direction *d, uint64_t number) {
  uint64_t state = seed;
  state = mix(&state) ^ number;
  for (int i = 0; i < 4; i++) d->random[i] = mix(&state);
}

/* xoshiro256** by Blackman and Vigna. */
static uint64_t draw(struct direction *d) {
  uint64_t *s = d->random, five = s[1] * 5, result = ((five << 7) | (five >> 57)) * 9, t = s[1] << 17;
  s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= t;
  s[3] = (s[3] << 45) | (s[3] >> 19);
  return result;
}

/* Returns a random number, uniform in 0 … max-1. */
static uint64_t random_below(struct direction *d, uint64_t max) {
  return (uint64_t)(((unsigned __int128)draw(d) * max) >> 64);
}

/* Frames on their way keep their time; later frames may overtake them. */
bool flow_configure(struct direction *d, const struct settings *set) {
  if (memcmp(&d->set, set, sizeof *set) == 0) return false;
  d->set = *set;
  d->free_at = d->last = 0;
  return true;
}

static bool before(const struct packet *a, const struct packet *b) {
  return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static bool push(struct packet *p) {
  if (count == room) {
    struct packet **more = realloc(heap, (room ? room * 2 : 1024) * sizeof *heap);
    if (!more) return false;
    heap = more;
    room = room ? room * 2 : 1024;
  }
  size_t at = count++;
  for (; at > 0 && before(p, heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = p;
  return true;
}

static struct packet *pop(void) {
  struct packet *first = heap[0], *last = heap[--count];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count && before(heap[child + 1], heap[child])) child++;
    if (!before(heap[child], last)) break;
    heap[at] = heap[child];
    at = child;
  }
  if (count) heap[at] = last;
  return first;
}

int64_t next_due(void) {
  return count ? heap[0]->due : INT64_MAX;
}

static void flush(void) {
  for (unsigned done = 0; done < pending;) {
    int sent = sendmmsg(senders[0]->out->fd, messages + done, pending - done, MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    for (int i = 0; i < sent; i++) senders[done + (unsigned)i]->count.sent++;
    if (sent > 0) done += (unsigned)sent;
    else senders[done++]->count.refused++; /* the device is down, or the kernel has no room: the frame is lost, as on a cable */
  }
  for (unsigned i = 0; i < pending; i++) {
    struct packet *p = owned[i];
    if (!p) continue;
    held -= p->length + sizeof *p;
    p->way->queued--;
    free(p);
  }
  pending = 0;
}

static void send_frame(struct direction *d, char *data, size_t length, struct packet *from) {
  if (pending && (pending == BATCH || senders[0]->out != d->out)) flush();
  pieces[pending] = (struct iovec){data, length};
  messages[pending].msg_hdr = (struct msghdr){.msg_iov = &pieces[pending], .msg_iovlen = 1};
  senders[pending] = d;
  owned[pending++] = from;
}

void release_due(void) {
  int64_t now = now_ns();
  for (int budget = 16 * BATCH; budget > 0 && count && heap[0]->due <= now; budget--) {
    struct packet *p = pop();
    send_frame(p->way, p->data, p->length, p);
  }
  if (pending) flush();
}

/* Returns when a frame that arrived at this time leaves, or -1 if it is lost. */
static int64_t departure(struct direction *d, int64_t arrived, size_t length) {
  const struct settings *s = &d->set;
  if (s->loss && random_below(d, 1000000000) < s->loss) {
    d->count.lost++;
    return -1;
  }
  int64_t at = arrived;
  if (s->kbit) {
    /* A token bucket that holds one frame: a frame is sent when the previous frame has passed. */
    uint64_t max = s->kbit * QUEUE_MS / 8;
    if (max < QUEUE_FRAMES * FRAME) max = QUEUE_FRAMES * FRAME;
    int64_t begin = d->free_at > arrived ? d->free_at : arrived;
    if (begin - arrived > (int64_t)(max * 8000000 / s->kbit)) {
      d->count.overflow++;
      return -1;
    }
    at = d->free_at = begin + (int64_t)(length * 8000000 / s->kbit);
  }
  int64_t delay = s->delay;
  if (s->jitter) delay += (int64_t)random_below(d, (uint64_t)s->jitter * 2 + 1) - s->jitter;
  if (delay > 0) at += delay;
  if (at < d->last) at = d->last;
  d->last = at;
  return at;
}

static void keep(struct direction *d, int64_t due, const char *data, size_t length) {
  struct packet *p = held + length + sizeof *p > MAX_HELD ? NULL : malloc(sizeof *p + length);
  if (p) {
    *p = (struct packet){.due = due, .order = order++, .way = d, .length = length};
    memcpy(p->data, data, length);
  }
  if (!p || !push(p)) {
    free(p);
    d->count.overflow++;
    return;
  }
  held += length + sizeof *p;
  d->queued++;
}

/* Puts a VLAN tag, which the kernel has removed from the frame, back in its place. Uses the slot's free space before the frame. */
static char *tagged(const struct tpacket2_hdr *h, char *frame, size_t *length) {
  if (!(h->tp_status & TP_STATUS_VLAN_VALID) || *length < 12) return frame;
  uint16_t type = h->tp_status & TP_STATUS_VLAN_TPID_VALID ? h->tp_vlan_tpid : 0x8100;
  memmove(frame - 4, frame, 12);
  frame -= 4;
  const unsigned char tag[4] = {(unsigned char)(type >> 8), (unsigned char)type, (unsigned char)(h->tp_vlan_tci >> 8), (unsigned char)h->tp_vlan_tci};
  memcpy(frame + 12, tag, 4);
  *length += 4;
  return frame;
}

bool end_waiting(const struct end *e) {
  const struct tpacket2_hdr *h = (const void *)(e->ring + e->next * e->slot);
  return e->ring && __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

void receive_frames(struct direction *d, struct end *in) {
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  int64_t now = now_ns();
  struct tpacket2_hdr *taken[BATCH];
  int n = 0;
  for (; n < BATCH; n++) {
    struct tpacket2_hdr *h = (void *)(in->ring + in->next * in->slot);
    if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) break;
    in->next = in->next + 1 == in->slots ? 0 : in->next + 1;
    taken[n] = h;
    d->count.received++;
    size_t length = h->tp_snaplen;
    if (length < h->tp_len) {
      d->count.overflow++; /* larger than the link's MTU allows */
      continue;
    }
    char *frame = tagged(h, (char *)h + h->tp_mac, &length);
    /* The kernel records the frame's arrival by the wall clock. If the clock has been set since, the arrival is now. */
    int64_t age = (wall.tv_sec - (int64_t)h->tp_sec) * 1000000000 + wall.tv_nsec - (int64_t)h->tp_nsec;
    int64_t due = departure(d, now - (age > 0 && age < 1000000000 ? age : 0), length);
    if (due < 0) continue;
    if (due <= now && d->queued == 0) send_frame(d, frame, length, NULL);
    else keep(d, due, frame, length);
  }
  if (pending) flush();
  for (int i = 0; i < n; i++) __atomic_store_n(&taken[i]->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}
