/*
 * nfsload serve ADDRESS PORT
 * nfsload call ADDRESS PORT [rate=N] [calls=N] [connections=N] [outstanding=N]
 *	[size=BYTES] [writes=PERCENT] [getattrs=PERCENT]
 *
 * Both ends of a load of NFSv3 over TCP, by IPv4 or IPv6, that is paced and takes
 * little of the processor itself: no file is behind it, every READ gets the same
 * bytes, every call and reply is a packet of its own. serve says "ready" and answers until
 * it is killed; call sends so many calls, at most so many a second and so many
 * unanswered on each connection, and prints how many of each it sent, and the
 * time from the first to the last reply in milliseconds, a word and a number a
 * line. Layouts are those of RFC 5531 section 9 and RFC 1813 section 3.3.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	NFS_PROGRAM = 100003, NFS_V3 = 3, NULLPROC = 0, GETATTR = 1, READ = 6, WRITE = 7, PROCEDURES = 8,
	CALL = 0, REPLY = 1, AUTH_SYS_FLAVOR = 1, PROC_UNAVAIL_STATUS = 3, FILE_SYNC = 2,
	WORD = 4, HANDLE_BYTES = 32, FATTR_WORDS = 21, NAME_BYTES = 8, HEAD_MOST = 512,
	DATA_MOST = 1 << 20, BUFFER_BYTES = DATA_MOST + HEAD_MOST, CONNECTIONS_MOST = 64, EVENTS = 64,
	TICK_NS = 250000, NS_PER_S = 1000000000, NS_PER_MS = 1000000, PERCENT = 100,
};
#define LAST_FRAGMENT UINT32_C(0x80000000)

struct connection {
	int fd;
	uint8_t *in;			/* bytes of records that are not whole yet */
	size_t in_len;
	uint8_t *out;			/* what the socket did not take */
	size_t out_len, out_size;
	unsigned outstanding;
};

struct words {
	uint32_t word[HEAD_MOST / WORD];
	unsigned count;
};

static const uint8_t data[DATA_MOST];	/* of READs and WRITEs */

static void
fail(const char *what)
{
	fprintf(stderr, "nfsload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
put(struct words *words, uint32_t value)
{
	words->word[words->count++] = htonl(value);
}

static void
put_zeros(struct words *words, unsigned count)
{
	while (count-- > 0)
		put(words, 0);
}

static uint32_t
get(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof word);
	return ntohl(word);
}

static size_t
padded(size_t bytes)
{
	return (bytes + WORD - 1) / WORD * WORD;
}

/* ---- connections ---- */

static struct connection *
connection_new(int fd)
{
	struct connection *connection = calloc(1, sizeof *connection);
	int on = 1;

	if (connection == NULL || (connection->in = malloc(BUFFER_BYTES)) == NULL)
		fail("memory");
	connection->fd = fd;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		fail("socket");
	return connection;
}

static void
connection_free(struct connection *connection)
{
	close(connection->fd);
	free(connection->in);
	free(connection->out);
	free(connection);
}

static void
want(int poll, struct connection *connection, bool writing, int how)
{
	struct epoll_event event = { .events = EPOLLIN | (writing ? (uint32_t)EPOLLOUT : 0), .data.ptr = connection };

	if (epoll_ctl(poll, how, connection->fd, &event) < 0)
		fail("epoll_ctl");
}

static void
keep(struct connection *connection, const void *bytes, size_t len)
{
	if (connection->out_len + len > connection->out_size) {
		connection->out_size = 2 * (connection->out_len + len);
		connection->out = realloc(connection->out, connection->out_size);
		if (connection->out == NULL)
			fail("memory");
	}
	memcpy(connection->out + connection->out_len, bytes, len);
	connection->out_len += len;
}

/* What the socket does not take at once is kept, in order. */
static void
send_record(int poll, struct connection *connection, struct words *words, size_t data_bytes)
{
	size_t len = words->count * WORD, all = len + padded(data_bytes);
	struct iovec pieces[] = { { words->word, len }, { (void *)data, padded(data_bytes) } };
	ssize_t sent = 0;
	size_t left;

	words->word[0] = htonl(LAST_FRAGMENT | (uint32_t)(all - WORD));
	if (connection->out_len == 0) {
		sent = writev(connection->fd, pieces, 2);
		if (sent < 0 && errno != EAGAIN)
			return;		/* the read that follows sees the end */
		if (sent < 0)
			sent = 0;
	}
	left = all - (size_t)sent;
	if (left == 0)
		return;
	if (connection->out_len == 0)
		want(poll, connection, true, EPOLL_CTL_MOD);
	if ((size_t)sent < len) {
		keep(connection, (const uint8_t *)words->word + sent, len - (size_t)sent);
		keep(connection, data, padded(data_bytes));
	} else {
		keep(connection, data, left);
	}
}

static void
send_kept(int poll, struct connection *connection)
{
	ssize_t sent = write(connection->fd, connection->out, connection->out_len);

	if (sent <= 0)
		return;
	connection->out_len -= (size_t)sent;
	memmove(connection->out, connection->out + sent, connection->out_len);
	if (connection->out_len == 0)
		want(poll, connection, false, EPOLL_CTL_MOD);
}

/* Calls take for each whole record; false at the end of the connection, and for a record that is too long. */
typedef void record_fn(void *context, int poll, struct connection *connection, const uint8_t *record, size_t len);

static bool
receive(int poll, struct connection *connection, record_fn *take, void *context)
{
	ssize_t got = read(connection->fd, connection->in + connection->in_len, BUFFER_BYTES - connection->in_len);
	size_t at = 0;

	if (got < 0 && errno == EAGAIN)
		return true;
	if (got <= 0)
		return false;
	connection->in_len += (size_t)got;
	while (connection->in_len - at >= WORD) {
		size_t len = get(connection->in + at) & ~LAST_FRAGMENT;

		if (len > BUFFER_BYTES - WORD)
			return false;
		if (connection->in_len - at < WORD + len)
			break;
		take(context, poll, connection, connection->in + at + WORD, len);
		at += WORD + len;
	}
	connection->in_len -= at;
	memmove(connection->in, connection->in + at, connection->in_len);
	return true;
}

union name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int
new_socket(const char *address, const char *port, union name *name)
{
	in_port_t number = htons((uint16_t)atoi(port));
	bool is_v6 = strchr(address, ':') != NULL;
	int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0), read;

	if (is_v6) {
		*name = (union name){ .v6 = { .sin6_family = AF_INET6, .sin6_port = number } };
		read = inet_pton(AF_INET6, address, &name->v6.sin6_addr);
	} else {
		*name = (union name){ .v4 = { .sin_family = AF_INET, .sin_port = number } };
		read = inet_pton(AF_INET, address, &name->v4.sin_addr);
	}
	if (fd < 0 || read != 1)
		fail(address);
	return fd;
}

static socklen_t
name_len(const union name *name)
{
	return name->any.sa_family == AF_INET6 ? sizeof name->v6 : sizeof name->v4;
}

/* ---- the server ---- */

/* A file of any size. */
static void
put_attributes(struct words *words)
{
	put(words, 1);
	put(words, 0644);
	put(words, 1);
	put_zeros(words, FATTR_WORDS - 3);
}

/* Arguments begin behind xid to procedure, credential and verifier; 0: none of it is there. */
static size_t
arguments_at(const uint8_t *record, size_t len)
{
	size_t at = 6 * WORD;

	for (unsigned i = 0; i < 2; i++) {
		if (at + 2 * WORD > len)
			return 0;
		at += 2 * WORD + padded(get(record + at + WORD));
	}
	return at <= len ? at : 0;
}

static void
answer(void *context, int poll, struct connection *connection, const uint8_t *record, size_t len)
{
	size_t at = arguments_at(record, len), counts = at + WORD + HANDLE_BYTES + 2 * WORD, data_bytes = 0;
	struct words words = { .count = 1 };
	uint32_t procedure;

	(void)context;
	if (at == 0)
		return;
	procedure = get(record + 5 * WORD);
	put(&words, get(record));
	put(&words, REPLY);
	put_zeros(&words, 3);		/* accepted, no verifier */
	put(&words, procedure == NULLPROC || procedure == GETATTR || procedure == READ || procedure == WRITE ? 0 :
	    PROC_UNAVAIL_STATUS);
	if (procedure == GETATTR) {
		put(&words, 0);
		put_attributes(&words);
	} else if ((procedure == READ || procedure == WRITE) && counts + WORD <= len) {
		uint32_t bytes = get(record + counts);

		bytes = bytes > DATA_MOST ? DATA_MOST : bytes;
		put(&words, 0);
		if (procedure == WRITE)
			put(&words, 0);	/* no attributes of before */
		put(&words, 1);
		put_attributes(&words);
		put(&words, bytes);
		put(&words, procedure == READ ? 0 : FILE_SYNC);
		put(&words, procedure == READ ? bytes : 0);
		if (procedure == WRITE)
			put(&words, 0);
		data_bytes = procedure == READ ? bytes : 0;
	}
	send_record(poll, connection, &words, data_bytes);
}

static void
serve(const char *address, const char *port)
{
	union name name;
	int listener = new_socket(address, port, &name), poll = epoll_create1(0), on = 1;
	struct connection itself = { .fd = listener };

	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    bind(listener, &name.any, name_len(&name)) < 0 || listen(listener, CONNECTIONS_MOST) < 0)
		fail("listen");
	want(poll, &itself, false, EPOLL_CTL_ADD);
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event events[EVENTS];
		int count = epoll_wait(poll, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			if (connection == &itself) {
				int fd = accept(listener, NULL, NULL);

				if (fd >= 0)
					want(poll, connection_new(fd), false, EPOLL_CTL_ADD);
				continue;
			}
			if (events[i].events & EPOLLOUT)
				send_kept(poll, connection);
			if (events[i].events & ~(uint32_t)EPOLLOUT && !receive(poll, connection, answer, NULL))
				connection_free(connection);
		}
	}
}

/* ---- the client ---- */

struct load {
	unsigned rate, calls, connections, outstanding, size, writes, getattrs;
	struct connection *connection[CONNECTIONS_MOST];
	unsigned next;			/* connection */
	unsigned sent, answered, failed;
	unsigned of[PROCEDURES];	/* that were sent */
	int64_t began_ns;
};

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Spread evenly: the n-th of a hundred calls. */
static uint32_t
procedure_of(const struct load *load, unsigned number)
{
	unsigned place = number * 37 % PERCENT;

	if (place < load->writes)
		return WRITE;
	return place < load->writes + load->getattrs ? GETATTR : READ;
}

static void
send_call(struct load *load, int poll, struct connection *connection)
{
	uint32_t procedure = procedure_of(load, load->sent), offset = load->sent * load->size;
	struct words words = { .count = 1 };

	put(&words, 0x4c000000 + load->sent);
	put(&words, CALL);
	put(&words, 2);			/* of RPC */
	put(&words, NFS_PROGRAM);
	put(&words, NFS_V3);
	put(&words, procedure);
	put(&words, AUTH_SYS_FLAVOR);	/* stamp, name, user, group, no more groups; RFC 5531 appendix A */
	put(&words, 5 * WORD + NAME_BYTES);
	put(&words, 1);
	put(&words, NAME_BYTES);
	put_zeros(&words, NAME_BYTES / WORD);
	put_zeros(&words, 3);
	put_zeros(&words, 2);		/* no verifier */
	put(&words, HANDLE_BYTES);
	for (unsigned i = 0; i < HANDLE_BYTES / WORD; i++)
		put(&words, 0xf11e0000 + i);
	if (procedure != GETATTR) {
		put(&words, 0);
		put(&words, offset);
		put(&words, load->size);
	}
	if (procedure == WRITE) {
		put(&words, FILE_SYNC);
		put(&words, load->size);
	}
	send_record(poll, connection, &words, procedure == WRITE ? load->size : 0);
	connection->outstanding++;
	load->of[procedure]++;
	load->sent++;
}

static void
take_reply(void *context, int poll, struct connection *connection, const uint8_t *record, size_t len)
{
	struct load *load = context;

	(void)poll;
	load->answered++;
	load->failed += len < 6 * WORD || get(record + WORD) != REPLY || get(record + 5 * WORD) != 0;
	connection->outstanding--;
}

/* Calls that are due, in turn on the connections that may have one more. */
static void
send_due(struct load *load, int poll)
{
	int64_t since_ns = now_ns() - load->began_ns;
	uint64_t due = load->rate == 0 ? load->calls : 1 + (uint64_t)since_ns * load->rate / NS_PER_S;
	unsigned full = 0;

	if (due > load->calls)
		due = load->calls;
	while (load->sent < due && full < load->connections) {
		struct connection *connection = load->connection[load->next++ % load->connections];

		if (connection->outstanding >= load->outstanding) {
			full++;
			continue;
		}
		full = 0;
		send_call(load, poll, connection);
	}
}

static void
read_option(struct load *load, const char *text)
{
	const struct {
		const char *name;
		unsigned *value, most;
	} options[] = {
		{ "rate=", &load->rate, 1000000 }, { "calls=", &load->calls, UINT32_MAX / 2 },
		{ "connections=", &load->connections, CONNECTIONS_MOST }, { "outstanding=", &load->outstanding, 65536 },
		{ "size=", &load->size, DATA_MOST }, { "writes=", &load->writes, PERCENT },
		{ "getattrs=", &load->getattrs, PERCENT },
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		size_t len = strlen(options[i].name);
		char *end;
		unsigned long value;

		if (strncmp(text, options[i].name, len) != 0)
			continue;
		value = strtoul(text + len, &end, 10);
		if (*end == '\0' && end > text + len && value <= options[i].most) {
			*options[i].value = (unsigned)value;
			return;
		}
	}
	errno = EINVAL;
	fail(text);
}

static void
connect_all(struct load *load, int poll, const char *address, const char *port)
{
	for (unsigned i = 0; i < load->connections; i++) {
		union name name;
		int fd = new_socket(address, port, &name);

		if (connect(fd, &name.any, name_len(&name)) < 0)
			fail("connect");
		load->connection[i] = connection_new(fd);
		want(poll, load->connection[i], false, EPOLL_CTL_ADD);
	}
}

static void
run_load(struct load *load, int poll)
{
	struct itimerspec tick = { .it_interval.tv_nsec = TICK_NS, .it_value.tv_nsec = TICK_NS };
	struct connection timer = { .fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK) };

	if (timer.fd < 0 || timerfd_settime(timer.fd, 0, &tick, NULL) < 0)
		fail("timerfd");
	want(poll, &timer, false, EPOLL_CTL_ADD);
	load->began_ns = now_ns();
	while (load->answered < load->calls) {
		struct epoll_event events[EVENTS];
		int count = epoll_wait(poll, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;
			uint64_t ticks;

			if (connection == &timer) {
				if (read(timer.fd, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
					fail("timerfd");
				continue;
			}
			if (events[i].events & EPOLLOUT)
				send_kept(poll, connection);
			if (events[i].events & ~(uint32_t)EPOLLOUT && !receive(poll, connection, take_reply, load))
				fail("the server closed a connection");
		}
		send_due(load, poll);
	}
	close(timer.fd);
}

static int
call(int argc, char **argv)
{
	struct load load = { .calls = 1000, .connections = 1, .outstanding = 16, .size = 8192 };
	int poll = epoll_create1(0);

	for (int i = 4; i < argc; i++)
		read_option(&load, argv[i]);
	if (load.connections == 0 || load.outstanding == 0 || load.writes + load.getattrs > PERCENT) {
		errno = EINVAL;
		fail("options");
	}
	connect_all(&load, poll, argv[2], argv[3]);
	run_load(&load, poll);
	printf("READ %u\nWRITE %u\nGETATTR %u\nfailed %u\nmilliseconds %lld\n", load.of[READ], load.of[WRITE],
	    load.of[GETATTR], load.failed, (long long)((now_ns() - load.began_ns) / NS_PER_MS));
	for (unsigned i = 0; i < load.connections; i++)
		connection_free(load.connection[i]);
	return load.failed == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "serve") == 0)
		serve(argv[2], argv[3]);
	if (argc >= 4 && strcmp(argv[1], "call") == 0)
		return call(argc, argv);
	fputs("usage: nfsload serve ADDRESS PORT | nfsload call ADDRESS PORT [NAME=N...]\n", stderr);
	return 2;
}
