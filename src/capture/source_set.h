/*
 * The files of one capture as one source: a rotated set is read in the order
 * of its first time stamps, its packets numbered through.
 */
#ifndef CAPTURE_SOURCE_SET_H
#define CAPTURE_SOURCE_SET_H

#include "capture/source.h"

struct source_set;

/*
 * paths: NULL-terminated; one or more. Each is opened once to see its first
 * stamp. A file of a set without packets is left out, and one that cannot be
 * read is trouble, no error: a rotation under way has files that are not begun
 * yet. Errors, when there is no file that can be read, as source_open.
 */
struct source_set *source_set_open(const char *const *paths, const struct source_config *config, GError **error);
void source_set_free(struct source_set *set);
/* One of them is a stream: what was read of it is gone, it is opened once. */
bool source_set_has_stream(const char *const *paths, const struct source_config *config);
/* True when it can be opened, and is closed again; one with a stream is believed. Errors as source_set_open. */
bool source_set_try(const char *const *paths, const struct source_config *config, GError **error);
/* As source_on_gone, for all the files; told in source_set_next and source_set_free only. */
void source_set_on_gone(struct source_set *set, source_gone_fn *gone, void *context);
/* As source_next; a file that breaks ends itself, not the set: its error is kept (source_set_trouble). */
enum source_result source_set_next(struct source_set *set, struct packet *packet);
/* As source_more. */
unsigned source_set_more(struct source_set *set, struct packet *packets, unsigned most);
/* As source_look_ahead. */
void source_set_look_ahead(const struct source_set *set, struct ahead *ahead);
/* What went wrong while reading, the first error; NULL: nothing. Borrowed. */
const GError *source_set_trouble(const struct source_set *set);

unsigned source_set_count(const struct source_set *set);
/* In the order of reading; borrowed. Complete once the file was read; without comments. */
const struct source_facts *source_set_facts(const struct source_set *set, unsigned index);
/* That are in the files which were read, FILE_COMMENTS at most; borrowed. */
const char *const *source_set_comments(const struct source_set *set, unsigned *count);
/*
 * The names of interfaces in the files that were read, FILE_INTERFACES of them,
 * by number (packet.interface less 1); NULL: it has none, or several. Borrowed.
 */
const char *const *source_set_interfaces(const struct source_set *set);
/* Of all files; all 0: a stream. Safe from another thread. */
void source_set_position(const struct source_set *set, uint64_t *done, uint64_t *all);
bool source_set_can_rewind(const struct source_set *set);

#endif
