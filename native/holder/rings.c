/*
 * Answers the calls that nodes' filters hand to the holder: socket (sockets.c) and setsockopt of PACKET_RX_RING, PACKET_TX_RING, SO_RCVBUF and SO_SNDBUF.
 * The holder takes a copy of a size out of the caller's memory and sets the option on the caller's socket with that copy: the caller cannot exchange it in
 * between. libpcap needs rings, so they cannot just be refused; it asks for a smaller one after ENOMEM.
 */
#include "../common/netlink.h"
#include "rings.h"
#include "node.h"
#include "sockets.h"
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/packet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <linux/sock_diag.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1ul
#endif

/* The listener of a seccomp filter. All processes with this filter belong to one node. */
struct filter_listener { struct source source; long node; };

static void line_ready(struct source *s, uint32_t events);
struct source rings_line = {.fd = -1, .ready = line_ready};

int rings_hand_over(long node, int listener) {
  struct iovec body = {&node, sizeof node};
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof listener)]; } extra = {
    .header = {.cmsg_len = CMSG_LEN(sizeof listener), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS},
  };
  memcpy(CMSG_DATA(&extra.header), &listener, sizeof listener);
  struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra.room};
  ssize_t sent = sendmsg(RINGS_FD, &message, MSG_NOSIGNAL);
  int problem = errno;
  close(listener);
  close(RINGS_FD);
  errno = problem;
  return sent < 0 ? -1 : 0;
}

/* A thread's process. */
static pid_t process_of(pid_t thread) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/status", thread);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[n < 0 ? 0 : n] = 0;
  const char *at = strstr(text, "\nTgid:");
  return at ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}

/* Returns the bytes of all packet rings in this socket's net namespace, or -1 if the kernel does not report them. */
static int64_t rings_there(int diag) {
  struct packet_diag_req ask = {.sdiag_family = AF_PACKET, .pdiag_show = PACKET_SHOW_RING_CFG};
  _Alignas(struct nlmsghdr) static char room[32 << 10];
  int64_t bytes = 0;
  if (!netlink_dump(diag, SOCK_DIAG_BY_FAMILY, &ask, sizeof ask)) return -1;
  for (;;) {
    ssize_t got = recv(diag, room, sizeof room, 0);
    if (got <= 0) return -1;
    unsigned left = (unsigned)got;
    for (struct nlmsghdr *h = (void *)room; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
      if (h->nlmsg_type == NLMSG_DONE) return bytes;
      if (h->nlmsg_type == NLMSG_ERROR) return -1;
      int attributes = (int)NLMSG_PAYLOAD(h, sizeof(struct packet_diag_msg));
      struct rtattr *a = (void *)((char *)NLMSG_DATA(h) + NLMSG_ALIGN(sizeof(struct packet_diag_msg)));
      for (; RTA_OK(a, attributes); a = RTA_NEXT(a, attributes)) {
        if (a->rta_type != PACKET_DIAG_RX_RING && a->rta_type != PACKET_DIAG_TX_RING) continue;
        const struct packet_diag_ring *ring = RTA_DATA(a);
        bytes += (int64_t)ring->pdr_block_size * ring->pdr_block_nr;
      }
    }
  }
}

static bool same_file(int a, int b) {
  struct stat x, y;
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Returns the same for the node's net namespace, or -2 if the socket is in a net namespace that the node has made: its rings are not counted. */
static int64_t rings_of(const struct node *n, int packet_socket) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", n->pid);
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there = open(path, O_RDONLY | O_CLOEXEC);
  int of_socket = ioctl(packet_socket, 0x894c /* SIOCGSKNS */);
  int64_t bytes = -2;
  if (home >= 0 && there >= 0 && of_socket >= 0 && same_file(there, of_socket) && setns(there, CLONE_NEWNET) == 0) {
    int diag = netlink_open(NETLINK_SOCK_DIAG);
    if (setns(home, CLONE_NEWNET) < 0) {
      dprintf(2, "cannot return to the fabric: %s\n", strerror(errno));
      _exit(71);
    }
    bytes = diag < 0 ? -1 : rings_there(diag);
    if (diag >= 0) close(diag);
  }
  if (home >= 0) close(home);
  if (there >= 0) close(there);
  if (of_socket >= 0) close(of_socket);
  return bytes;
}

static int make_ring(struct node *n, int packet_socket, int option, const struct tpacket_req3 *size, socklen_t length) {
  int64_t bytes = (int64_t)size->tp_block_size * size->tp_block_nr;
  if (bytes > 0) {
    int64_t there = bytes > RING_BYTES ? -2 : rings_of(n, packet_socket), max = RING_BYTES;
    /* A kernel without packet_diag does not report the existing rings: then all rings ever made count. */
    if (there == -1) there = n->ring_bytes, n->ring_bytes += bytes, max = RING_BYTES_EVER;
    if (there < 0 || there + bytes > max) return errno = ENOMEM, -1;
  }
  return setsockopt(packet_socket, SOL_PACKET, option, size, length);
}

/* setsockopt of the options that the filter hands over, on a copy of the caller's descriptor. Answers 0, or -1 with errno. */
static int set_option(struct node *n, int listener, const struct seccomp_notif *asked) {
  union { struct tpacket_req3 ring; int bytes; } value = {0};
  const __u64 *args = asked->data.args;
  bool is_ring = (int)args[1] == SOL_PACKET;
  int length = (int)args[4], min = is_ring ? sizeof(struct tpacket_req) : sizeof value.bytes, max = is_ring ? sizeof value.ring : sizeof value.bytes;
  pid_t caller = (pid_t)asked->pid;
  if (length < min) return errno = EINVAL, -1;
  if (length > max) length = max;
  struct iovec here = {&value, (size_t)length}, there = {(void *)(uintptr_t)args[3], (size_t)length};
  int process = (int)syscall(SYS_pidfd_open, caller, 0);
  if (process < 0 && (caller = process_of(caller)) > 0) process = (int)syscall(SYS_pidfd_open, caller, 0); /* the caller is a thread */
  int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)args[0], 0);
  int rc = -1;
  if (copy < 0 && errno != EBADF) errno = ENOMEM;
  if (copy >= 0 && process_vm_readv(caller, &here, 1, &there, 1, 0) != length) errno = EFAULT;
  /* The caller may have ended, and its pid may belong to another process now. */
  else if (copy >= 0 && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->id) < 0) errno = ENOMEM;
  else if (copy >= 0) rc = is_ring ? make_ring(n, copy, (int)args[2], &value.ring, (socklen_t)length) : buffer_set(n, copy, (int)args[2], value.bytes);
  int problem = errno;
  if (copy >= 0) close(copy);
  if (process >= 0) close(process);
  errno = problem;
  return rc;
}

/* Answers one call in each turn of the loop: making a ring takes milliseconds. */
static void filter_listener_ready(struct source *s, uint32_t events) {
  struct filter_listener *k = container_of(s, struct filter_listener, source);
  union { struct seccomp_notif notif; char room[256]; } asked = {0};
  union { struct seccomp_notif_resp resp; char room[256]; } answer = {0};
  if (events & EPOLLIN && ioctl(s->fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0) {
    struct node *n = node_find(k->node);
    answer.resp.id = asked.notif.id;
    if (!n || !n->pid) answer.resp.error = -ENOMEM;
    else if (asked.notif.data.nr == SYS_socket) {
      /* The arguments are in registers, which the caller cannot change meanwhile: the kernel continues with the values that the filter checked. */
      if (socket_grant(n) < 0) answer.resp.error = -errno;
      else answer.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else if (set_option(n, s->fd, &asked.notif) < 0) answer.resp.error = -errno;
    ioctl(s->fd, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* fails if the caller has ended */
  } else if (events & (EPOLLHUP | EPOLLERR)) {
    source_close(s);
    free_later(k);
  }
}

static void line_ready(struct source *s, uint32_t events) {
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } extra;
  long node;
  (void)events;
  for (;;) {
    struct iovec body = {&node, sizeof node};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    if (recvmsg(s->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof node) return;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (!c || c->cmsg_type != SCM_RIGHTS) continue;
    struct filter_listener *k = need(calloc(1, sizeof *k));
    *k = (struct filter_listener){.source = {.ready = filter_listener_ready}, .node = node};
    memcpy(&k->source.fd, CMSG_DATA(c), sizeof k->source.fd);
    k->source.fd = descriptor_keep(k->source.fd);
    /* From Linux 6.6 on: wakes the holder on the caller's processor, which is free while the caller waits. */
    ioctl(k->source.fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    source_watch(&k->source, EPOLLIN);
  }
}

int rings_init(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -1;
  int theirs = pair[0] == RINGS_FD ? pair[0] : pair[1], ours = pair[0] == RINGS_FD ? pair[1] : pair[0];
  if (theirs != RINGS_FD && (dup3(theirs, RINGS_FD, O_CLOEXEC) < 0 || close(theirs) < 0)) return -1;
  rings_line.fd = ours;
  return 0;
}
