/* Runs a fuzz target on files: the seeds of each target, in tests and without libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    FILE *file = fopen(argv[i], "rb");
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    /* The allocation has exactly the input's size, so that the sanitizer finds a read behind its end. */
    uint8_t *data = size < 0 ? NULL : malloc((size_t)size + (size == 0));
    if (!data || fseek(file, 0, SEEK_SET) < 0 || fread(data, 1, (size_t)size, file) != (size_t)size) {
      perror(argv[i]);
      return 1;
    }
    fclose(file);
    fprintf(stderr, "%s\n", argv[i]); /* the last printed name is the input that ended the run */
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
  }
  fprintf(stderr, "%d inputs\n", argc - 1);
  return 0;
}
