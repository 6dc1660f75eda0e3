#include "capture/decompress.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum {
	FIRST_MOST = 8,
	READ_BYTES = 1 << 18,
	PIPE_BYTES = 1 << 20,
};

struct decompress {
	GThread *thread;
	int in, out;
	int stop[2];		/* closed at [1]: nobody wants more */
	uint8_t first[FIRST_MOST];
	size_t first_len;
	uint8_t *buffer;
	char *problem;		/* set by the thread before it ends */
	_Atomic uint64_t position;
};

static const struct {
	const char *format;
	uint8_t len;
	const char *bytes;
} magics[] = {
	{ "gzip", 2, "\x1f\x8b" },
	{ "zstd", 4, "\x28\xb5\x2f\xfd" },
	{ "xz", 6, "\xfd" "7zXZ\0" },
	{ "lz4", 4, "\x04\x22\x4d\x18" },
	{ "lz4", 4, "\x02\x21\x4c\x18" },	/* its first format */
	{ "zstd", 4, "\x50\x2a\x4d\x18" },	/* begins with a frame that is to be skipped, as pzstd writes it */
};

const char *
decompress_format(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < G_N_ELEMENTS(magics); i++)
		if (len >= magics[i].len && memcmp(bytes, magics[i].bytes, magics[i].len) == 0)
			return magics[i].format;
	return NULL;
}

/* ---- the thread ---- */

/* As read(2), but that it ends when nobody wants more, also where the input is a pipe that nobody fills. */
static ssize_t
read_unless_stopped(const struct decompress *decompress)
{
	struct pollfd wait[] = { { .fd = decompress->in, .events = POLLIN }, { .fd = decompress->stop[0] } };
	ssize_t len;

	do {
		if (poll(wait, G_N_ELEMENTS(wait), -1) < 0)
			continue;
		if (wait[1].revents != 0)
			return 0;
		len = read(decompress->in, decompress->buffer, READ_BYTES);
		if (len >= 0 || errno != EINTR)
			return len;
	} while (errno == EINTR);
	return -1;
}

static la_ssize_t
read_compressed(struct archive *archive, void *context, const void **buffer)
{
	struct decompress *decompress = context;
	ssize_t len;

	*buffer = decompress->buffer;
	if (decompress->first_len > 0) {
		len = (ssize_t)decompress->first_len;
		memcpy(decompress->buffer, decompress->first, decompress->first_len);
		decompress->first_len = 0;
	} else {
		len = read_unless_stopped(decompress);
	}
	if (len < 0)
		archive_set_error(archive, errno, "%s", g_strerror(errno));
	else
		atomic_fetch_add_explicit(&decompress->position, (uint64_t)len, memory_order_relaxed);
	return len;
}

/* False when the reader has closed its end. */
static bool
write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t written = write(fd, bytes, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return false;
		bytes += written;
		len -= (size_t)written;
	}
	return true;
}

/* A file that is cut off yields all that it has, and then its error. */
static void
unpack(struct decompress *decompress, struct archive *archive)
{
	struct archive_entry *entry;
	const void *block;
	size_t len;
	la_int64_t offset;
	int status;

	archive_read_support_format_raw(archive);
	archive_read_support_filter_gzip(archive);
	archive_read_support_filter_zstd(archive);
	archive_read_support_filter_xz(archive);
	archive_read_support_filter_lz4(archive);
	status = archive_read_open(archive, decompress, NULL, read_compressed, NULL);
	if (status == ARCHIVE_OK)
		status = archive_read_next_header(archive, &entry);
	while (status == ARCHIVE_OK || status == ARCHIVE_WARN) {
		status = archive_read_data_block(archive, &block, &len, &offset);
		if ((status == ARCHIVE_OK || status == ARCHIVE_WARN) && !write_all(decompress->out, block, len))
			return;
	}
	if (status != ARCHIVE_EOF)
		decompress->problem = g_strdup(archive_error_string(archive) != NULL ?
		    archive_error_string(archive) : "cannot be unpacked");
}

static gpointer
run(gpointer context)
{
	struct decompress *decompress = context;
	struct archive *archive = archive_read_new();
	sigset_t closed;

	/* a reader that went away is told by write() */
	sigemptyset(&closed);
	sigaddset(&closed, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &closed, NULL);
	unpack(decompress, archive);
	archive_read_free(archive);
	close(decompress->out);
	return NULL;
}

/* ---- */

struct decompress *
decompress_new(int fd, const uint8_t *first, size_t len, int *out)
{
	struct decompress *decompress;
	int ends[2], stop[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	if (pipe2(stop, O_CLOEXEC) != 0) {
		close(ends[0]);
		close(ends[1]);
		return NULL;
	}
	/* where the limit of an ordinary user is lower, the default does */
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	decompress = g_new0(struct decompress, 1);
	decompress->in = fd;
	decompress->out = ends[1];
	memcpy(decompress->stop, stop, sizeof stop);
	decompress->first_len = len;
	memcpy(decompress->first, first, len);
	decompress->buffer = g_malloc(READ_BYTES);
	decompress->thread = g_thread_new("decompress", run, decompress);
	*out = ends[0];
	return decompress;
}

static void
join(struct decompress *decompress)
{
	if (decompress->thread != NULL)
		g_thread_join(decompress->thread);
	decompress->thread = NULL;
}

const char *
decompress_problem(struct decompress *decompress)
{
	join(decompress);
	return decompress->problem;
}

void
decompress_free(struct decompress *decompress)
{
	if (decompress == NULL)
		return;
	close(decompress->stop[1]);
	join(decompress);
	close(decompress->stop[0]);
	close(decompress->in);
	g_free(decompress->buffer);
	g_free(decompress->problem);
	g_free(decompress);
}

uint64_t
decompress_position(const struct decompress *decompress)
{
	return atomic_load_explicit(&decompress->position, memory_order_relaxed);
}
