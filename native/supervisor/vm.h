/* The supervisor of a VM node: declarations of its parts. README.md describes it. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ARRAY(a) (sizeof(a) / sizeof *(a))
#define CONFIG "/etc/labwright/vm"
#define DRIVE_FILES "/etc/labwright/config-drive"
#define RUN "/run/vm"
#define DISKS "/vm"
#define CONTROL_SOCKET RUN "/control.sock"
#define READY_MARK RUN "/ready"
#define SAVED_STATE DISKS "/state"
#define SAVED_READY DISKS "/state.ready"
#define SAVED_MEMORY DISKS "/memory" /* of a snapshot, beside the state */
#define MANAGEMENT_NAME "mgmt0"
/* Of a node with a kernel of its own: its settings as messages, and the mark that its init takes programs. */
#define GUEST_SETTINGS "/etc/labwright/guest"
#define GUEST_MARK RUN "/guest"
/* A layer of its root: a snapshot of a guest that has booted, from which the node starts. */
#define SNAPSHOT "/snapshot"

enum {
  MAX_PORTS = 24, /* of a virtual machine: the last one is in the management network */
  FIRST_SLOT = 8, /* PCI slot of the first interface: the same at every start, so that a saved state fits */
  MAX_MEMORY = 1 << 20, /* MiB */
  VM_UID = 1000,  /* the user id of the hypervisor inside the node */
};

/* Prints a message on the node's console and ends the node. */
_Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

/* config.c: the settings from the service. Pointers into the text stay valid. */
struct config {
  char *text;
  char **args; /* of the hypervisor, NULL at the end; room for more is made by config_arg */
  size_t arg_count, arg_room;
  const char *management; /* PCI address of the interface in the management network */
  const char *nic, *bus, *ready, *failed, *label, *append;
  struct { const char *format, *file; } disks[16];
  size_t disk_count;
  bool own_kernel; /* a node with a kernel of its own */
  int memory; /* of a guest that can begin from a snapshot, MiB; 0: it boots */
  int guest_links; /* its interfaces, with those that the node does not have yet */
};
void config_read(struct config *c, const char *path);
__attribute__((format(printf, 2, 3))) void config_arg(struct config *c, const char *format, ...);

/* main.c: starts again, with a boot. Nothing of the node has begun: its disk was not in use yet. */
_Noreturn void boot_instead(void);

/* run.c: programs. */
void drop_privilege(void);
int run(char *const argv[], const char *input, bool privileged);
pid_t start_hypervisor(char **argv, const int *keep, size_t keep_count);
int exit_code(int status);

/* disks.c: the node's overlay disks over the disks of its image, and the config drive. */
void make_disks(const struct config *c);
void make_config_drive(const struct config *c);

/* qmp.c: the hypervisor's control connection. */
extern int qmp_fd;
bool qmp_open(void);
/* Sends one command, with a file descriptor if fd is not -1. Returns whether it succeeded. If not, the reason is in qmp_problem. */
extern char qmp_problem[4096];
__attribute__((format(printf, 2, 3))) bool qmp(int fd, const char *format, ...);
/* Returns a text member of the last command's result, empty if there is none of this name. */
const char *qmp_returned(const char *key);
/* Reads the hypervisor's events. Returns false if the hypervisor has closed the connection. */
bool qmp_events(void);

/* ports.c: interfaces. */
extern int link_fd;
void ports_open(const struct config *c);
void ports_report(void); /* sends all interfaces to the node's own kernel */
void ports_arguments(struct config *c, int *keep, size_t *keep_count);
void ports_attach(const struct config *c); /* the hypervisor is connected: changes are sent to it from now on */
void ports_events(void);
void port_unplugged(const char *device);
void ports_settle(void);

/* dhcp.c: the address of a guest in the management network. */
enum { DHCP_MOST = 14 + 20 + 8 + 300 };
struct lease { unsigned char mac[6]; uint32_t address, mask, server; };
extern int dhcp_fd; /* -1: nobody is served */
/* Reads an IPv4 address with its prefix; text may follow. Returns false if there is none. */
bool lease_read(struct lease *l, const unsigned char *mac, const char *addresses);
/* Writes the frame that answers the frame of a client. Returns its size; 0: no answer. */
size_t dhcp_answer(const uint8_t *frame, size_t size, const struct lease *l, uint8_t answer[DHCP_MOST]);
void dhcp_serve(const char *tap, const unsigned char *mac, const char *addresses); /* ends the service without an address */
void dhcp_end(void);
void dhcp_ready(void);

/* console.c: the serial line and the node's terminal. */
extern int serial_fd, terminal_fd;
void console_open(const char *ready, const char *failed);
void mark_ready(void);
bool is_ready(void);
void guest_has_failed(int code);
int guest_failed(void); /* the exit code of a guest that reported a failed boot; 0: it did not */
bool serial_ready(void); /* false at the serial line's end */
void terminal_ready(void);
bool console_stuck(void);
void console_drain(void);
bool typing_stuck(void);
void typing_drain(void);

/* hibernate.c */
extern int control_fd;
void control_open(void);
void control_ready(void);
bool hibernating(void);
void hibernate_step(void);
bool resuming(void);
void resume_step(void);
int state_open(const struct config *c);
void save_state(void); /* to the node's disk; then the hypervisor ends */

/* snapshot.c: a guest with a kernel of its own that has booted, and is no node yet. */
void snapshot_prepare(void);
void snapshot_refuse(void); /* this guest boots */
bool taking_snapshot(void); /* this guest becomes a snapshot instead of a node */
void snapshot_memory(struct config *c, int *keep, size_t *keep_count);
bool snapshot_without_memory(void); /* the state that is saved next has no memory in it */
bool snapshot_save_memory(void);
int snapshot_open(void);
void snapshot_load(int state);
bool snapshot_begins(void); /* the guest of a snapshot runs, and its init has not connected yet */
bool snapshot_late(void);

/* guest.c: the init of a node with a kernel of its own. */
extern int guest_fd;
void guest_open(const char *interface);
void guest_events(void);
void guest_link(int index, const char *name, const unsigned char *mac, unsigned mtu, const char *addresses);
void guest_unlink(int index);
void guest_window(void);
void guest_power_off(void);
bool guest_connected(void);

/* Returns the frequency of the processor's time stamp counter, kHz. */
unsigned long counter_khz(void);

/* exec.c: runs a program in it. */
int run_in_guest(char **argv);

/* probe.c: returns 0 if hardware virtualisation works. */
int probe_kvm(void);

/* tool.c: commands that the service runs in the node. */
int tool(int argc, char **argv);
