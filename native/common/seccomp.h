/* System call filters and capabilities of programs that give up what they do not need. */
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_FILTER_OPS = 512 };

/* A filter that is being built. `full`: an instruction did not fit, and the filter must not be used. */
struct filter { struct sock_filter ops[MAX_FILTER_OPS]; unsigned short length; bool full; };

void filter_add(struct filter *f, struct sock_filter op);

#define FILTER_OP(f, ...) filter_add(f, (struct sock_filter)__VA_ARGS__)
/* Loads a field of struct seccomp_data. Loads only the low 32 bits of an argument. */
#define FILTER_LOAD(f, field) FILTER_OP(f, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field)))
#define FILTER_RETURN(f, value) FILTER_OP(f, BPF_STMT(BPF_RET | BPF_K, value))
/* Skips the next `skip` instructions if the loaded value is different. */
#define FILTER_UNLESS_EQUAL_SKIP(f, value, skip) FILTER_OP(f, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip))

/* Starts a filter: it kills programs of other architectures, including x32, and loads the system call's number. */
void filter_begin(struct filter *f);

/* Removes all capabilities but those in the mask from the bounding set. Returns 0, or -1 with errno. */
int capabilities_bound(uint64_t kept);
/* Makes these the effective and permitted capabilities; none can be inherited. Returns 0, or -1 with errno. */
int capabilities_set(uint64_t kept);
