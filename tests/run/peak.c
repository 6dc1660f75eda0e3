/*
 * peak COMMAND ARGUMENT...: runs it with its output thrown away, and prints the
 * most memory that it held, in KiB. The command's status if it failed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void
run(char **argv)
{
	int nowhere = open("/dev/null", O_RDWR);

	if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		_exit(126);
	execv(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int
main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t child;

	if (argc < 2)
		return 2;
	child = fork();
	if (child == 0)
		run(argv + 1);
	if (child < 0 || wait4(child, &status, 0, &usage) != child) {
		perror("peak");
		return 1;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	printf("%ld\n", usage.ru_maxrss);
	return 0;
}
