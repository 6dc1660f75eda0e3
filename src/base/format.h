/*
 * Numbers and paragraphs for a page of 80 columns of ASCII.
 */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FORMAT_SIZE = 24, PAGE_COLUMNS = 80 };

/* Three digits and a unit, at most 7 characters: "812ns", "-12.3us", "5.12ms", "1.50s", "1234s", "3.20d". */
const char *format_duration(char text[FORMAT_SIZE], int64_t ns);
/* Exact up to eight digits, then "1.23G"; at most 8 characters. */
const char *format_count(char text[FORMAT_SIZE], uint64_t count);
/* At most 5 characters: exact up to four digits, then "12.3k". */
const char *format_short(char text[FORMAT_SIZE], double value);
/* "81%", "5.4%", at most 5 characters; "-" when not known. */
const char *format_share(char text[FORMAT_SIZE], bool known, double share);
/* "2023-11-14 22:13:20.000" of a stamp, UTC; "-" when it is outside years 1 to 9999. */
const char *format_stamp(char text[FORMAT_SIZE + 8], int64_t ns);

/*
 * Prints text in lines of at most 80 columns: the first behind lead, the others
 * behind as many spaces. Breaks at spaces, but for that in "5 %", and inside a word that is longer than
 * a line. What is not printable ASCII is printed as \xNN.
 */
void print_wrapped(FILE *out, const char *lead, const char *text);

#endif
