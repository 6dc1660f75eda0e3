#include "run/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int
signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int
signals_pending(int descriptor)
{
	struct signalfd_siginfo info;

	if (descriptor < 0 || read(descriptor, &info, sizeof info) != (ssize_t)sizeof info)
		return 0;
	return (int)info.ssi_signo;
}
