/*
 * Packets on their way into files, written by a thread of its own: a disk that
 * does not keep up costs saved packets, which are counted, and no others.
 */
#ifndef RUN_SAVER_H
#define RUN_SAVER_H

#include "capture/save.h"

struct saver;

/* Takes save. */
struct saver *saver_new(struct save *save);
/* Writes what waits. NULL allowed. */
void saver_free(struct saver *saver);
/* A packet, whose bytes are borrowed for the call. */
void saver_push(struct saver *saver, const struct packet *packet);
/* Hands over what was pushed, to be in the file soon. Some times a second. */
void saver_flush(struct saver *saver);
/* Packets pushed from now on may have so many bytes. */
void saver_set_snaplen(struct saver *saver, uint32_t snaplen);
/* Packets that found no room. */
uint64_t saver_left_out(const struct saver *saver);
/* Why saving is over, once: an error that the caller frees; NULL: it goes on, or was told. */
GError *saver_error(struct saver *saver);

#endif
