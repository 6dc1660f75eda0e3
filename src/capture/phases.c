#include "capture/phases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

const struct phase_rights phase_rights[PHASES] = {
	[PHASE_START] = { .name = "start", .all_capabilities = true },
	[PHASE_OPEN] = {
		.name = "open",
		/* the socket; promiscuous mode of a device that needs it; to become another user */
		.capabilities = 5,
		.capability = { CAP_NET_RAW, CAP_NET_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP },
	},
	[PHASE_RUN] = { .name = "run", .ordinary_user = true, .filtered = true },
	[PHASE_KEEP] = {
		.name = "keep",
		.filtered = true,
		/* inputs and folders wherever they are; outputs to whom they belong, also over those of others */
		.capabilities = 4,
		.capability = { CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_CHOWN, CAP_FOWNER },
	},
};

enum {
	RUN = 1 << PHASE_RUN,
	KEEP = 1 << PHASE_KEEP,
	BOTH = RUN | KEEP,
};

/* clone(2): where the flags are depends on the machine. */
#if defined(__s390__) || defined(__CRIS__)
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

/* TCGETS2, whose header does not go with that of TCGETS; newer C libraries ask by it whether a file is a terminal. */
#define TERMINAL_GET2 _IOC(_IOC_READ, 'T', 0x2a, 44)

#define IF(index, compare, a, b) .value = CALL_THIS, .only_if = { index, compare, a, b }
#define IS(index, number) IF(index, SCMP_CMP_EQ, number, 0)
#define WITH(index, flags) IF(index, SCMP_CMP_MASKED_EQ, flags, flags)
#define WITHOUT(index, flags) IF(index, SCMP_CMP_MASKED_EQ, flags, 0)
/* On s390 the arguments of mmap(2) are in memory, where a filter does not see them. */
#if defined(__s390__)
#define MAPPING .value = CALL_ANY
#else
#define MAPPING WITHOUT(2, PROT_EXEC)
#endif
#define FIRST(compare, what) .value = what, .only_if = { 0, compare, 0, 0 }
#define ALLOW(call, in, ...) { .name = call, .phases = in, __VA_ARGS__ }
#define REFUSE(call, with, ...) { .name = call, .phases = RUN, .error = with, __VA_ARGS__ }

/* Sorted by purpose; a call may have several rows, with conditions that exclude one another. */
const struct call phase_calls[] = {
	/* memory, never to be executed */
	ALLOW("brk", BOTH),
	ALLOW("madvise", BOTH),
	ALLOW("mmap", BOTH, MAPPING),
	ALLOW("mmap2", BOTH, WITHOUT(2, PROT_EXEC)),
	ALLOW("mprotect", BOTH, WITHOUT(2, PROT_EXEC)),
	ALLOW("mremap", BOTH),
	ALLOW("munmap", BOTH),
	ALLOW("membarrier", RUN),

	/* threads, and no processes; glibc falls back to clone(2), whose flags can be looked at */
	ALLOW("clone", RUN, WITH(CLONE_FLAGS, CLONE_THREAD)),
	REFUSE("clone3", ENOSYS),
	ALLOW("futex", BOTH),
	ALLOW("futex_time64", BOTH),
	ALLOW("futex_waitv", RUN),
	ALLOW("rseq", BOTH),
	ALLOW("set_robust_list", BOTH),
	ALLOW("set_tid_address", RUN),
	ALLOW("sched_yield", BOTH),
	ALLOW("sched_getaffinity", RUN),
	ALLOW("sched_getparam", RUN),
	ALLOW("sched_getscheduler", RUN),
	ALLOW("getcpu", RUN),
	ALLOW("prctl", RUN, IS(0, PR_SET_NAME)),
	ALLOW("prctl", KEEP, IS(0, PR_SET_PDEATHSIG)),
	ALLOW("prctl", KEEP, IS(0, PR_GET_PDEATHSIG)),

	/* what is open: to read, to write, to begin again */
	ALLOW("read", RUN),
	ALLOW("readv", RUN),
	ALLOW("pread64", RUN),
	ALLOW("preadv", RUN),
	ALLOW("write", RUN, FIRST(SCMP_CMP_NE, CALL_NOT_DEVICE)),
	ALLOW("writev", RUN, FIRST(SCMP_CMP_NE, CALL_NOT_DEVICE)),
	ALLOW("pwrite64", RUN, FIRST(SCMP_CMP_NE, CALL_NOT_DEVICE)),
	ALLOW("lseek", RUN),
	ALLOW("_llseek", RUN),
	ALLOW("ftruncate", RUN),
	ALLOW("ftruncate64", RUN),
	ALLOW("fsync", RUN),
	ALLOW("fdatasync", RUN),
	ALLOW("fadvise64", RUN),
	ALLOW("fstat", BOTH),
	ALLOW("fstat64", BOTH),
	ALLOW("newfstatat", RUN, WITH(3, AT_EMPTY_PATH)),
	REFUSE("newfstatat", EACCES, WITHOUT(3, AT_EMPTY_PATH)),
	ALLOW("fstatat64", RUN, WITH(3, AT_EMPTY_PATH)),
	REFUSE("fstatat64", EACCES, WITHOUT(3, AT_EMPTY_PATH)),
	ALLOW("statx", RUN, WITH(2, AT_EMPTY_PATH)),
	REFUSE("statx", EACCES, WITHOUT(2, AT_EMPTY_PATH)),
	ALLOW("close", BOTH),
	ALLOW("dup", RUN, IS(0, STDIN_FILENO)),
	ALLOW("pipe2", RUN),
	ALLOW("fcntl", KEEP, IS(1, F_DUPFD_CLOEXEC)),
	ALLOW("fcntl", BOTH, IS(1, F_GETFD)),
	ALLOW("fcntl", BOTH, IS(1, F_SETFD)),
	ALLOW("fcntl", BOTH, IS(1, F_GETFL)),
	ALLOW("fcntl", RUN, IS(1, F_SETFL)),
	ALLOW("fcntl", RUN, IS(1, F_GETPIPE_SZ)),
	ALLOW("fcntl", RUN, IS(1, F_SETPIPE_SZ)),
	ALLOW("ioctl", RUN, IS(1, TCGETS)),
	ALLOW("ioctl", RUN, IS(1, TERMINAL_GET2)),
	ALLOW("ioctl", RUN, IS(1, TIOCGWINSZ)),
	ALLOW("ioctl", RUN, IS(1, FIONREAD)),
	ALLOW("ioctl", RUN, IS(1, SIOCGIFNAME)),
	ALLOW("ioctl", RUN, IS(1, SIOCGIFINDEX)),
	ALLOW("ioctl", RUN, IS(1, SIOCGIFFLAGS)),

	/* the keeper's verbs */
	ALLOW("open", KEEP),
	ALLOW("openat", KEEP),
	ALLOW("stat", KEEP),
	ALLOW("lstat", KEEP),
	ALLOW("newfstatat", KEEP),
	ALLOW("fstatat64", KEEP),
	ALLOW("statx", KEEP),
	ALLOW("readlink", KEEP),
	ALLOW("readlinkat", KEEP),
	ALLOW("getcwd", KEEP),
	ALLOW("linkat", KEEP),
	ALLOW("renameat", KEEP),
	ALLOW("renameat2", KEEP),
	ALLOW("unlinkat", KEEP),
	ALLOW("fchown", KEEP),
	ALLOW("setfsgid", KEEP),
	ALLOW("setfsuid", KEEP),
	ALLOW("getpid", KEEP),
	ALLOW("getppid", KEEP),

	/* between program and keeper; the packets of an interface, its filter and its counters */
	ALLOW("send", BOTH, FIRST(SCMP_CMP_EQ, CALL_SOCKET)),
	ALLOW("sendto", BOTH, FIRST(SCMP_CMP_EQ, CALL_SOCKET)),
	ALLOW("sendmsg", BOTH, FIRST(SCMP_CMP_EQ, CALL_SOCKET)),
	ALLOW("recv", BOTH),
	ALLOW("recvfrom", BOTH),
	ALLOW("recvmsg", BOTH),
	ALLOW("getsockopt", RUN),
	ALLOW("setsockopt", RUN, IS(1, SOL_SOCKET)),
	/* libpcap gives the ring back with its own hands; the kernel does it as well */
	REFUSE("setsockopt", EPERM, IS(1, SOL_PACKET)),
	ALLOW("getsockname", RUN),
	ALLOW("getpeername", RUN),

	/* to wait */
	ALLOW("poll", BOTH),
	ALLOW("ppoll", BOTH),
	ALLOW("ppoll_time64", BOTH),
	ALLOW("select", RUN),
	ALLOW("pselect6", RUN),
	ALLOW("epoll_create1", RUN),
	ALLOW("epoll_ctl", RUN),
	ALLOW("epoll_wait", RUN),
	ALLOW("epoll_pwait", RUN),
	ALLOW("epoll_pwait2", RUN),
	ALLOW("eventfd2", RUN),
	ALLOW("signalfd4", RUN),
	ALLOW("timerfd_create", RUN),
	ALLOW("timerfd_gettime", RUN),
	ALLOW("timerfd_settime", RUN),
	ALLOW("timerfd_settime64", RUN),
	ALLOW("nanosleep", RUN),
	ALLOW("clock_nanosleep", RUN),
	ALLOW("clock_nanosleep_time64", RUN),
	ALLOW("restart_syscall", BOTH),

	/* the time, where it takes a call */
	ALLOW("clock_getres", RUN),
	ALLOW("clock_gettime", BOTH),
	ALLOW("clock_gettime64", BOTH),
	ALLOW("gettimeofday", BOTH),
	ALLOW("time", BOTH),

	/* signals, to nobody else; the end */
	ALLOW("rt_sigaction", BOTH),
	ALLOW("rt_sigpending", RUN),
	ALLOW("rt_sigprocmask", BOTH),
	ALLOW("rt_sigreturn", BOTH),
	ALLOW("rt_sigtimedwait", RUN),
	ALLOW("sigaltstack", RUN),
	ALLOW("kill", RUN, FIRST(SCMP_CMP_EQ, CALL_OWN_PROCESS)),
	ALLOW("tgkill", BOTH, FIRST(SCMP_CMP_EQ, CALL_OWN_PROCESS)),
	ALLOW("tkill", BOTH, FIRST(SCMP_CMP_EQ, CALL_OWN_PROCESS)),
	ALLOW("wait4", RUN),
	ALLOW("waitid", RUN),
	ALLOW("exit", BOTH),
	ALLOW("exit_group", BOTH),

	/* who and where it is */
	ALLOW("getegid", BOTH),
	ALLOW("geteuid", BOTH),
	ALLOW("getgid", RUN),
	ALLOW("getpid", RUN),
	ALLOW("getppid", RUN),
	ALLOW("getrandom", BOTH),
	ALLOW("getrlimit", RUN),
	ALLOW("getrusage", RUN),
	ALLOW("gettid", BOTH),
	ALLOW("getuid", RUN),
	ALLOW("prlimit64", RUN, IS(2, 0)),
	ALLOW("sysinfo", RUN),
	ALLOW("times", RUN),
	ALLOW("umask", RUN),
	ALLOW("uname", RUN),

	/* what libraries try and can do without: processors in /sys, time zones, character sets, the journal */
	REFUSE("access", EACCES),
	REFUSE("faccessat", EACCES),
	REFUSE("faccessat2", EACCES),
	REFUSE("getcwd", EACCES),
	REFUSE("lstat", EACCES),
	REFUSE("open", EACCES),
	REFUSE("openat", EACCES),
	REFUSE("openat2", ENOSYS),
	REFUSE("readlink", EACCES),
	REFUSE("readlinkat", EACCES),
	REFUSE("sched_getattr", EPERM),
	REFUSE("sched_setattr", EPERM),
	REFUSE("socket", EACCES),
	REFUSE("stat", EACCES),
	REFUSE("statfs", EACCES),
};

const unsigned phase_call_count = sizeof phase_calls / sizeof phase_calls[0];
