/* flood ADDRESS PACKETS RATE SIZE: sends UDP packets to port 9 at RATE per second (0: as fast as possible) and prints the reached rate. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  static char payload[1472];
  int count = atoi(argv[2]), rate = atoi(argv[3]), size = atoi(argv[4]), sent = 0;
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
  inet_pton(AF_INET, argv[1], &to.sin_addr);
  if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) return 1;
  for (double start = now(); ; ) {
    double due = rate ? (now() - start) * rate : count;
    while (sent < count && sent < due) send(fd, payload, (size_t)size, 0), sent++; /* ECONNREFUSED counts as sent: it is the answer to an earlier packet */
    if (sent == count) {
      printf("%.0f\n", count / (now() - start));
      return 0;
    }
    nanosleep(&(struct timespec){0, 200000}, NULL);
  }
}
