/* A node of which the kernel has killed a process for memory is recognized by the files of both versions of control groups. */
#include "../groups.c"
#include "../../fuzz/check.h"

pid_t clone_process(unsigned long flags) { return flags ? -1 : 0; }

/* Puts the file into the group of node 7. */
static void put(const char *name, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "7/%s", name);
  FILE *file = fopen(path, "we");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

int main(void) {
  char folder[] = "groups-XXXXXX";
  CHECK(mkdtemp(folder) && chdir(folder) == 0);
  CHECK(!groups_out_of_memory(7)); /* without control groups */
  int here = open(".", O_RDONLY | O_DIRECTORY);
  CHECK(here >= 0 && dup2(here, GROUP_FD) == GROUP_FD);
  if (here != GROUP_FD) close(here);
  groups_init();
  CHECK(!groups_out_of_memory(7));
  CHECK(mkdir("7", 0755) == 0);
  put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  CHECK(!groups_out_of_memory(7));
  put("memory.oom_control", "oom_kill_disable 1\nunder_oom 1\noom_kill 3\n");
  CHECK(groups_out_of_memory(7));
  CHECK(unlink("7/memory.oom_control") == 0);
  put("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\noom_group_kill 4\n");
  CHECK(!groups_out_of_memory(7));
  put("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n");
  CHECK(groups_out_of_memory(7));
  CHECK(!groups_out_of_memory(8));
  return 0;
}
