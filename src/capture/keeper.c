#include "capture/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/errors.h"

enum { READER_US = 50 * 1000 };	/* after so long it is seen that a FIFO has a reader */

enum verb { VERB_INPUT, VERB_OUTPUT, VERB_COMMIT, VERB_DROP, VERB_SAVE };

/* All its bytes are sent: none is padding, which nobody sets. */
struct request {
	uint64_t verb;		/* enum verb */
	uint64_t number;
	int64_t seconds;
};

G_STATIC_ASSERT(sizeof(struct request) == 3 * sizeof(uint64_t));

struct reply {
	int code;		/* 0, or an errno; a descriptor may come along */
};

/* A file that may be asked for. */
struct name {
	char *path;
	int descriptor;		/* that it is another name for, or -1 */
	enum keeper_kind kind;
	struct target *target;	/* in the keeper: of an output that is open */
};

struct keeper {
	pid_t process;
	int socket;
	GMutex lock;		/* a reply belongs to the request before it */
	GArray *inputs, *outputs;	/* struct name */
	struct keeper_save save;
	struct owner owner;
};

static const struct owner nobody_else = { (uid_t)-1, (gid_t)-1 };

static enum keeper_kind
kind_of(const char *path)
{
	struct stat status;

	if (strcmp(path, "-") == 0)
		return KEEPER_STREAM;
	if (stat(path, &status) != 0)
		return KEEPER_NOTHING;
	return S_ISREG(status.st_mode) ? KEEPER_FILE : S_ISDIR(status.st_mode) ? KEEPER_FOLDER : KEEPER_STREAM;
}

/* The number of a path that is known, or the length of the list. */
static unsigned
find(const GArray *names, const char *path)
{
	unsigned i = 0;

	while (i < names->len && strcmp(g_array_index(names, struct name, i).path, path) != 0)
		i++;
	return i;
}

/* ---- what is done with rights, by whomever has them ---- */

/* A FIFO nobody writes to must not stop the keeper, that is for the reader: settle_input(). */
static int
try_input(const char *path)
{
	struct stat status;
	int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC;

	if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
		flags |= O_NONBLOCK;
	return open(path, flags);
}

static int
open_input(const char *path, int descriptor, const struct owner *owner)
{
	g_autofree char *own = descriptor >= 0 ? g_strdup_printf("/proc/self/fd/%d", descriptor) : NULL;
	int fd = try_input(own != NULL ? own : path);

	if (fd < 0 && errno == EACCES && owner_assume(owner)) {
		fd = try_input(path);
		owner_resume();
	}
	return fd;
}

/* Waits for a FIFO's first writer as open() would have; reading waits from here on. */
static int
settle_input(int fd, bytes_wait_fn *wait_for, void *context)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

	if (flags < 0 || (flags & O_NONBLOCK) == 0)
		return fd;
	if (wait_for != NULL)
		wait_for(context, fd);
	else
		while (poll(&wait, 1, -1) < 0 && errno == EINTR)
			continue;
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

/* The same of an output's first reader; false: it is not that which is missing. */
static bool
await_reader(int fd)
{
	if (fd >= 0 || errno != EAGAIN)
		return false;
	g_usleep(READER_US);
	return true;
}

static int
settle_output(int fd)
{
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

	if (flags >= 0 && (flags & O_NONBLOCK) != 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

static int
open_save(const struct keeper_save *save, const struct owner *owner, uint64_t number, int64_t seconds)
{
	g_autofree char *path = NULL;
	struct target *target;
	int code, fd = -1;

	errno = EACCES;
	if (save->name == NULL)
		return -1;
	path = save->name(save->context, number, seconds);
	target = target_open(path, descriptor_named(path), owner, &fd);
	if (target == NULL)
		return -1;
	code = target_commit(target);
	if (code == 0)
		return fd;
	close(fd);
	errno = code;
	return -1;
}

/* ---- the keeper's side ---- */

static int
serve_output(struct keeper *keeper, struct name *name)
{
	int fd = -1;

	target_drop(name->target);
	name->target = target_open(name->path, name->descriptor, &keeper->owner, &fd);
	return fd;
}

/* A descriptor for the program, or -1 with errno, which is 0 where none is asked for. */
static int
serve(struct keeper *keeper, const struct request *request)
{
	GArray *names = request->verb == VERB_INPUT ? keeper->inputs : keeper->outputs;
	struct name *name;

	if (request->verb == VERB_SAVE)
		return open_save(&keeper->save, &keeper->owner, request->number, request->seconds);
	errno = EACCES;
	if (request->number >= names->len)
		return -1;
	name = &g_array_index(names, struct name, request->number);
	switch ((enum verb)request->verb) {
	case VERB_INPUT:
		return open_input(name->path, name->descriptor, &keeper->owner);
	case VERB_OUTPUT:
		return serve_output(keeper, name);
	case VERB_COMMIT:
		errno = name->target != NULL ? target_commit(g_steal_pointer(&name->target)) : EBADF;
		return -1;
	case VERB_DROP:
		target_drop(g_steal_pointer(&name->target));
		errno = 0;
		return -1;
	default:
		return -1;
	}
}

static bool
send_reply(int socket, const struct reply *reply, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec data = { .iov_base = (void *)reply, .iov_len = sizeof *reply };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *reply;
}

/*
 * Opening may wait for ever for a file server. Whoever waits with it must not be
 * outlived; else the end of the socket says it, in time to remove what has a
 * name.
 */
static int
serve_mortally(struct keeper *keeper, const struct request *request, pid_t program)
{
	int fd, code;

	if (request->verb == VERB_COMMIT || request->verb == VERB_DROP)
		return serve(keeper, request);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != program)
		_exit(0);
	fd = serve(keeper, request);
	code = errno;
	prctl(PR_SET_PDEATHSIG, 0);
	errno = code;
	return fd;
}

static void
serve_until_alone(struct keeper *keeper, int socket, pid_t program)
{
	struct request request;
	ssize_t len;

	while ((len = recv(socket, &request, sizeof request, 0)) != 0) {
		struct reply reply;
		int fd;

		if (len < 0 && errno == EINTR)
			continue;
		if (len != (ssize_t)sizeof request)
			break;
		fd = serve_mortally(keeper, &request, program);
		reply.code = fd >= 0 ? 0 : errno;
		if (!send_reply(socket, &reply, fd))
			break;
		if (fd >= 0)
			close(fd);
	}
	for (unsigned i = 0; i < keeper->outputs->len; i++)
		target_drop(g_array_index(keeper->outputs, struct name, i).target);
}

/* What ends the program, or makes it report, is the program's business: the last verb may come after it. */
static void
ignore_signals(void)
{
	static const int ignored[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGTTIN, SIGTTOU, SIGXFSZ,
	};
	sigset_t none;

	for (unsigned i = 0; i < G_N_ELEMENTS(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
add_descriptors(GArray *kept, const GArray *names)
{
	for (unsigned i = 0; i < names->len; i++)
		if (g_array_index(names, struct name, i).descriptor >= 0)
			g_array_append_val(kept, g_array_index(names, struct name, i).descriptor);
}

static void
keep(struct keeper *keeper, const struct keeper_config *config, int socket, pid_t program)
{
	g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(int));

	ignore_signals();
	prctl(PR_SET_NAME, "nfscorr-keeper");
	g_array_append_val(kept, socket);
	add_descriptors(kept, keeper->inputs);
	add_descriptors(kept, keeper->outputs);
	descriptors_close_but((const int *)kept->data, kept->len);
	if (config->restrict_rights != NULL)
		config->restrict_rights(config->restrict_context, socket);
	serve_until_alone(keeper, socket, program);
}

/* ---- the program's side ---- */

/* Answers with a descriptor, or -1 and errno. */
static int
receive_reply(int socket)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct reply reply = { 0 };
	struct iovec data = { .iov_base = &reply, .iov_len = sizeof reply };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control,
	};
	ssize_t len;
	int fd = -1;

	do
		len = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len >= 0 && len != (ssize_t)sizeof reply)
		errno = EPIPE;	/* the keeper is gone */
	if (len != (ssize_t)sizeof reply)
		return -1;
	errno = reply.code;
	if (reply.code != 0)
		return -1;
	if (message.msg_controllen >= CMSG_LEN(sizeof fd) && control.header.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
	else if ((message.msg_flags & MSG_CTRUNC) != 0)
		errno = EMFILE;	/* there was no room for it here */
	return fd;
}

static int
ask(struct keeper *keeper, enum verb verb, uint64_t number, int64_t seconds)
{
	struct request request = { .verb = verb, .number = number, .seconds = seconds };
	int fd = -1, code;

	g_mutex_lock(&keeper->lock);
	errno = EPIPE;
	if (send(keeper->socket, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request)
		fd = receive_reply(keeper->socket);
	code = errno;
	g_mutex_unlock(&keeper->lock);
	errno = code;
	return fd;
}

static void
name_clear(gpointer data)
{
	struct name *name = data;

	g_free(name->path);
}

static GArray *
take_names(const GPtrArray *paths)
{
	GArray *names = g_array_new(FALSE, TRUE, sizeof(struct name));

	g_array_set_clear_func(names, name_clear);
	for (unsigned i = 0; paths != NULL && i < paths->len; i++) {
		const char *path = g_ptr_array_index(paths, i);
		struct name name = { .path = g_strdup(path), .descriptor = descriptor_named(path), .kind = kind_of(path) };

		g_array_append_val(names, name);
	}
	return names;
}

static struct keeper *
start_failed(struct keeper *keeper, GError **error)
{
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "the process that opens files cannot be started: %s",
	    g_strerror(errno));
	keeper_free(keeper);
	return NULL;
}

struct keeper *
keeper_start(const struct keeper_config *config, GError **error)
{
	struct keeper *keeper = g_new0(struct keeper, 1);
	pid_t program = getpid();
	int ends[2];

	g_mutex_init(&keeper->lock);
	keeper->socket = -1;
	keeper->inputs = take_names(config->inputs);
	keeper->outputs = take_names(config->outputs);
	keeper->save = config->save;
	keeper->owner = config->owner;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return start_failed(keeper, error);
	keeper->socket = ends[0];
	keeper->process = fork();
	if (keeper->process == 0) {
		keep(keeper, config, ends[1], program);
		_exit(0);
	}
	close(ends[1]);
	return keeper->process > 0 ? keeper : start_failed(keeper, error);
}

void
keeper_free(struct keeper *keeper)
{
	if (keeper == NULL)
		return;
	if (keeper->socket >= 0)
		close(keeper->socket);
	while (keeper->process > 0 && waitpid(keeper->process, NULL, 0) < 0 && errno == EINTR)
		continue;
	g_array_free(keeper->inputs, TRUE);
	g_array_free(keeper->outputs, TRUE);
	g_mutex_clear(&keeper->lock);
	g_free(keeper);
}

int
keeper_socket(const struct keeper *keeper)
{
	return keeper->socket;
}

pid_t
keeper_process(const struct keeper *keeper)
{
	return keeper->process;
}

int
keeper_input(struct keeper *keeper, const char *path, bytes_wait_fn *wait, void *context)
{
	int fd = keeper != NULL ? ask(keeper, VERB_INPUT, find(keeper->inputs, path), 0) : open_input(path, -1, &nobody_else);

	return settle_input(fd, wait, context);
}

static int
try_output(struct keeper *keeper, const char *path, struct keeper_target *target)
{
	int fd = -1;

	if (keeper != NULL) {
		target->number = find(keeper->outputs, path);
		return ask(keeper, VERB_OUTPUT, target->number, 0);
	}
	target->own = target_open(path, descriptor_named(path), &nobody_else, &fd);
	return fd;
}

int
keeper_output(struct keeper *keeper, const char *path, struct keeper_target *target)
{
	int fd;

	do
		fd = try_output(keeper, path, target);
	while (await_reader(fd));
	return settle_output(fd);
}

int
keeper_commit(struct keeper *keeper, struct keeper_target *target)
{
	if (keeper == NULL)
		return target_commit(g_steal_pointer(&target->own));
	ask(keeper, VERB_COMMIT, target->number, 0);
	return errno;
}

void
keeper_drop(struct keeper *keeper, struct keeper_target *target)
{
	if (keeper == NULL)
		target_drop(g_steal_pointer(&target->own));
	else
		ask(keeper, VERB_DROP, target->number, 0);
}

int
keeper_open_save(struct keeper *keeper, const struct keeper_save *save, uint64_t number, int64_t seconds)
{
	int fd;

	do
		fd = keeper != NULL ? ask(keeper, VERB_SAVE, number, seconds) : open_save(save, &nobody_else, number, seconds);
	while (await_reader(fd));
	return settle_output(fd);
}

static enum keeper_kind
kind_among(const GArray *names, const char *path)
{
	unsigned number = find(names, path);

	return number < names->len ? g_array_index(names, struct name, number).kind : KEEPER_NOTHING;
}

enum keeper_kind
keeper_kind(const struct keeper *keeper, const char *path)
{
	return keeper != NULL ? kind_among(keeper->inputs, path) : kind_of(path);
}

enum keeper_kind
keeper_output_kind(const struct keeper *keeper, const char *path)
{
	return keeper != NULL ? kind_among(keeper->outputs, path) : kind_of(path);
}
