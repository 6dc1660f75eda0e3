#include "capture/owner.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { GROUPS_MOST = 256 };

/* Among the ids of a process are those that its files may have (setfsuid(2)): the saved one is to spare. */
void
owner_prepare(const struct owner *owner)
{
	gid_t groups[GROUPS_MOST];
	int count = GROUPS_MOST;
	const struct passwd *entry;

	if (owner->user == (uid_t)-1 || geteuid() != 0)
		return;
	entry = getpwuid(owner->user);
	if (entry != NULL && getgrouplist(entry->pw_name, owner->group, groups, &count) > 0)
		(void)!setgroups((size_t)count, groups);
	if (setresgid((gid_t)-1, (gid_t)-1, owner->group) == 0)
		(void)!setresuid((uid_t)-1, (uid_t)-1, owner->user);
}

/* The kernel forgets the signal of a parent's death with the user. */
static void
change(uid_t user, gid_t group)
{
	int signal = 0;

	prctl(PR_GET_PDEATHSIG, &signal);
	setfsgid(group);
	setfsuid(user);
	prctl(PR_SET_PDEATHSIG, signal);
}

bool
owner_assume(const struct owner *owner)
{
	int code = errno;

	if (owner->user == (uid_t)-1 || owner->user == geteuid())
		return false;
	change(owner->user, owner->group);
	/* what is no user changes nothing, and tells who it is */
	if ((uid_t)setfsuid((uid_t)-1) == owner->user)
		return true;
	owner_resume();
	errno = code;
	return false;
}

void
owner_resume(void)
{
	int code = errno;

	change(geteuid(), getegid());
	errno = code;
}
