/* Numbers in text. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Reads decimal digits at *at, at least one, and moves *at behind them. False, with *at unchanged, if there are none or the number is larger than max. */
bool read_number(const char **at, uint64_t max, uint64_t *number);
