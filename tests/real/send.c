/*
 * send udp ADDRESS PORT BYTES COUNT RATE     datagrams, RATE a second, 0: as fast as it goes
 * send frames INTERFACE HEX...               frames as they are, tags and all
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { BYTES_MOST = 65000, NS_A_SECOND = 1000000000, BURST = 32 };

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)NS_A_SECOND + now.tv_nsec;
}

/* In small bursts, so that the clock costs little; sleeps in between. */
static void
keep_rate(int64_t begin_ns, long sent, long rate)
{
	int64_t due_ns = rate > 0 ? sent * (int64_t)NS_A_SECOND / rate : 0;
	int64_t early_ns = begin_ns + due_ns - now_ns();

	if (rate > 0 && sent % BURST == 0 && early_ns > 0)
		nanosleep(&(struct timespec){ early_ns / NS_A_SECOND, early_ns % NS_A_SECOND }, NULL);
}

static int
send_datagrams(char **argv)
{
	static uint8_t bytes[BYTES_MOST];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])) };
	long len = atol(argv[2]), count = atol(argv[3]), rate = atol(argv[4]);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int64_t begin_ns = now_ns();

	if (fd < 0 || inet_pton(AF_INET, argv[0], &to.sin_addr) != 1 || len < 0 || len > BYTES_MOST)
		return 1;
	for (long sent = 0; sent < count; sent++) {
		/* nobody listens: what ICMP says of one is told by the next */
		(void)sendto(fd, bytes, (size_t)len, 0, (struct sockaddr *)&to, sizeof to);
		keep_rate(begin_ns, sent, rate);
	}
	return 0;
}

static int
send_frames(char **argv)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(argv[0]) };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || to.sll_ifindex == 0) {
		perror(argv[0]);
		return 1;
	}
	for (argv++; *argv != NULL; argv++) {
		uint8_t frame[BYTES_MOST];
		size_t len = 0;

		for (const char *hex = *argv; hex[0] != '\0' && hex[1] != '\0' && len < sizeof frame; hex += 2)
			frame[len++] = (uint8_t)strtoul((const char[]){ hex[0], hex[1], '\0' }, NULL, 16);
		if (sendto(fd, frame, len, 0, (struct sockaddr *)&to, sizeof to) < 0) {
			perror("send");
			return 1;
		}
	}
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 7 && strcmp(argv[1], "udp") == 0)
		return send_datagrams(argv + 2);
	if (argc > 3 && strcmp(argv[1], "frames") == 0)
		return send_frames(argv + 2);
	fprintf(stderr, "usage: send udp ADDRESS PORT BYTES COUNT RATE | send frames INTERFACE HEX...\n");
	return 2;
}
