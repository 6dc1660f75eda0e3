#include "run/writer.h"

#include <errno.h>
#include <glib.h>
#include <unistd.h>

struct piece {
	char *text;
	size_t len;
};

struct writer {
	GMutex lock;
	GCond changed;
	GQueue waiting;			/* struct piece * */
	size_t waiting_bytes, most_bytes;
	GThread *thread;
	writer_wake_fn *wake;
	void *context;
	int fd;
	int error;
	bool busy;			/* with a piece that does not wait any more */
	bool over;
	bool abandoned;			/* the thread frees it all */
};

static void
piece_free(gpointer data)
{
	struct piece *piece = data;

	g_free(piece->text);
	g_free(piece);
}

/* 0, or errno. */
static int
write_all(int fd, const struct piece *piece)
{
	for (size_t done = 0; done < piece->len;) {
		ssize_t len = write(fd, piece->text + done, piece->len - done);

		if (len < 0 && errno != EINTR)
			return errno;
		done += len > 0 ? (size_t)len : 0;
	}
	return 0;
}

static void
release(struct writer *writer)
{
	g_queue_clear_full(&writer->waiting, piece_free);
	g_cond_clear(&writer->changed);
	g_mutex_clear(&writer->lock);
	g_free(writer);
}

/* The lock is held but while it writes. */
static void
write_next(struct writer *writer)
{
	struct piece *piece = g_queue_pop_head(&writer->waiting);
	int error;

	writer->waiting_bytes -= piece->len;
	writer->busy = true;
	g_mutex_unlock(&writer->lock);
	error = write_all(writer->fd, piece);
	piece_free(piece);
	g_mutex_lock(&writer->lock);
	writer->busy = false;
	if (error == 0)
		return;
	writer->error = error;
	g_queue_clear_full(&writer->waiting, piece_free);
	writer->waiting_bytes = 0;
	if (!writer->abandoned)
		writer->wake(writer->context);
}

static gpointer
run(gpointer data)
{
	struct writer *writer = data;

	g_mutex_lock(&writer->lock);
	while (!writer->over) {
		if (g_queue_is_empty(&writer->waiting))
			g_cond_wait(&writer->changed, &writer->lock);
		else
			write_next(writer);
	}
	g_mutex_unlock(&writer->lock);
	if (writer->abandoned)
		release(writer);
	return NULL;
}

struct writer *
writer_new(int fd, size_t most_bytes, writer_wake_fn *wake, void *context)
{
	struct writer *writer = g_new0(struct writer, 1);

	*writer = (struct writer){ .fd = fd, .most_bytes = most_bytes, .wake = wake, .context = context };
	g_mutex_init(&writer->lock);
	g_cond_init(&writer->changed);
	g_queue_init(&writer->waiting);
	writer->thread = g_thread_new("write", run, writer);
	return writer;
}

void
writer_free(struct writer *writer)
{
	GThread *thread;

	if (writer == NULL)
		return;
	thread = writer->thread;
	g_mutex_lock(&writer->lock);
	writer->over = true;
	writer->abandoned = writer->busy;
	g_cond_signal(&writer->changed);
	if (writer->abandoned) {
		g_mutex_unlock(&writer->lock);
		g_thread_unref(thread);
		return;
	}
	g_mutex_unlock(&writer->lock);
	g_thread_join(thread);
	release(writer);
}

bool
writer_offer(struct writer *writer, char *text, size_t len, bool must)
{
	struct piece *piece;
	bool taken;

	g_mutex_lock(&writer->lock);
	taken = writer->error == 0 && (must || writer->waiting_bytes + len <= writer->most_bytes);
	if (taken) {
		piece = g_new(struct piece, 1);
		*piece = (struct piece){ text, len };
		g_queue_push_tail(&writer->waiting, piece);
		writer->waiting_bytes += len;
		g_cond_signal(&writer->changed);
	}
	g_mutex_unlock(&writer->lock);
	if (!taken)
		g_free(text);
	return taken;
}

int
writer_error(struct writer *writer)
{
	int error;

	g_mutex_lock(&writer->lock);
	error = writer->error;
	g_mutex_unlock(&writer->lock);
	return error;
}

bool
writer_is_idle(struct writer *writer)
{
	bool idle;

	g_mutex_lock(&writer->lock);
	idle = writer->error != 0 || (!writer->busy && g_queue_is_empty(&writer->waiting));
	g_mutex_unlock(&writer->lock);
	return idle;
}
