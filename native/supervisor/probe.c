/* Tests whether a guest runs: three instructions in real mode that write a byte to a port. */
#include "vm.h"
#include <sys/ioctl.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <linux/kvm.h>
#include <time.h>
#include <x86intrin.h>

enum { PORT = 0x10, BYTE = 0x2a, ADDRESS = 0x1000, PATIENCE_S = 5, MEASURE_MS = 20, READINGS = 100 };

int probe_kvm(void) {
  static const unsigned char program[] = {0xb0, BYTE, 0xe6, PORT, 0xf4}; /* mov al, BYTE; out PORT, al; hlt */
  alarm(PATIENCE_S); /* a guest that never ends: the signal ends us */
  int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
  unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (vm < 0 || memory == MAP_FAILED) return 1;
  memcpy(memory, program, sizeof program);
  struct kvm_userspace_memory_region region = {.guest_phys_addr = ADDRESS, .memory_size = 4096, .userspace_addr = (uintptr_t)memory};
  int cpu = ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0 ? -1 : ioctl(vm, KVM_CREATE_VCPU, 0);
  int size = cpu < 0 ? -1 : ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
  struct kvm_run *run = size < 0 ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
  struct kvm_sregs special;
  struct kvm_regs registers = {.rip = ADDRESS, .rflags = 2};
  if (run == MAP_FAILED || ioctl(cpu, KVM_GET_SREGS, &special) < 0) return 1;
  special.cs.base = special.cs.selector = 0;
  if (ioctl(cpu, KVM_SET_SREGS, &special) < 0 || ioctl(cpu, KVM_SET_REGS, &registers) < 0 || ioctl(cpu, KVM_RUN, 0) < 0) return 1;
  bool wrote = run->exit_reason == KVM_EXIT_IO && run->io.port == PORT && run->io.size == 1 &&
               ((unsigned char *)run)[run->io.data_offset] == BYTE;
  return wrote ? 0 : 1;
}
static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* An emulated processor has the counter of the real one. A kernel that measures it on a busy machine gets a wrong frequency, or none and no timer. */
static struct reading { int64_t ns; uint64_t count; } read_both(void) {
  struct reading best = {0};
  int64_t shortest = INT64_MAX;
  /* Another process may run between two readings. */
  for (int i = 0; i < READINGS; i++) {
    int64_t before = now_ns();
    uint64_t count = __rdtsc();
    int64_t took = now_ns() - before;
    if (took < shortest) shortest = took, best = (struct reading){before + took / 2, count};
  }
  return best;
}

unsigned long counter_khz(void) {
  struct reading first = read_both();
  usleep(MEASURE_MS * 1000);
  struct reading last = read_both();
  return (unsigned long)((last.count - first.count) * 1000000 / (uint64_t)(last.ns - first.ns));
}
#else
unsigned long counter_khz(void) { return 1000000; }
int probe_kvm(void) { return 1; } /* guests are x86-64 */
#endif
