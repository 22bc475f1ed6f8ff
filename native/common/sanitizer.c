/* Settings of builds with AddressSanitizer; other builds take nothing from here. */
#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);

/* Leak detection is off: the programs exit without freeing, and the detector cannot trace processes that are not dumpable. */
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

/* A translation unit must not be empty. */
typedef int sanitizer_settings;
