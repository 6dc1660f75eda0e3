/*
 * Whose files are opened, where root may less than somebody else: a file server
 * that takes root for nobody does not let it into a home.
 */
#ifndef CAPTURE_OWNER_H
#define CAPTURE_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* (uid_t)-1: nobody beside who we are. */
struct owner {
	uid_t user;
	gid_t group;
};

/* Lets this process, which is root, be the owner towards files when it has no capabilities for it any more. */
void owner_prepare(const struct owner *owner);
/*
 * Towards files this thread is the owner, and root again. False: there is none,
 * or it was not prepared. What is to happen when the parent dies stays.
 */
bool owner_assume(const struct owner *owner);
void owner_resume(void);

#endif
