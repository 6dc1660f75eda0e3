/*
 * A new file that takes the place of its target in one step: it appears whole
 * or not at all. A target that is no regular file (a pipe, a device, a
 * descriptor such as /dev/stdout) is written as it is.
 */
#ifndef CAPTURE_TARGET_H
#define CAPTURE_TARGET_H

#include "capture/owner.h"

struct target;

/*
 * *fd is for writing and the caller's. descriptor: of this process, that the
 * path is another name for, or -1. The new file is the owner's, if there is one,
 * who also makes it where root may not. NULL and errno when nothing can be
 * written; EAGAIN: not now, as nobody reads the FIFO. Writing to a FIFO does not
 * wait either, until the caller says so.
 */
struct target *target_open(const char *path, int descriptor, const struct owner *owner, int *fd);
/* Takes target. All was written: 0, or the errno of what failed, and the target is then as it was. */
int target_commit(struct target *target);
/* Takes target, NULL allowed: nothing appears. */
void target_drop(struct target *target);

#endif
