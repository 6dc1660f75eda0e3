/*
 * The folders that tests make for their traces.
 */
#ifndef TRACE_FOLDER_H
#define TRACE_FOLDER_H

/* With all that is in it, as far as it can be removed. */
void folder_remove(const char *path);

#endif
