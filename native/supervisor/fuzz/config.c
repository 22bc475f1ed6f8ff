/* The settings file of a machine. */
#include "../config.c"
#include <setjmp.h>
#include <sys/mman.h>

static jmp_buf refused;
void fail(const char *format, ...) {
  (void)format;
  longjmp(refused, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct config c;
  char path[32];
  c = (struct config){0};
  int file = memfd_create("config", 0);
  if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (setjmp(refused) == 0) {
    config_read(&c, path);
    if (c.disk_count > ARRAY(c.disks) || c.args[c.arg_count]) abort();
    for (size_t i = 0; i < c.arg_count; i++) (void)!strlen(c.args[i]);
    config_arg(&c, "%s,%s", c.nic, c.bus);
    free(c.args[c.arg_count - 1]);
  }
  free(c.args);
  free(c.text);
  close(file);
  return 0;
}
