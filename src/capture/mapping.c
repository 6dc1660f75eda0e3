#include "capture/mapping.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPPINGS = 64 };

struct mapping {
	_Atomic uintptr_t memory;	/* 0: none */
	_Atomic bool lost;
};

/*
 * The one variable of the program that nobody is handed: a signal tells an
 * address and nothing else. A thread comes there by an address in its own
 * mapping, whose entry stays meanwhile; those of others come and go.
 */
static struct mapping mappings[MAPPINGS];

static struct mapping *
find(uintptr_t address)
{
	for (unsigned i = 0; i < MAPPINGS; i++) {
		uintptr_t memory = atomic_load(&mappings[i].memory);

		if (memory != 0 && address >= memory && address - memory < MAPPING_BYTES)
			return &mappings[i];
	}
	return NULL;
}

static bool
put_zeros(void *at, size_t len, int protection)
{
	return mmap(at, len, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* Zeros for a page of a mapping; anything else ends the program, as it would without this. */
static void
on_bus_error(int number, siginfo_t *info, void *context)
{
	bool is_fault = info->si_code > 0;	/* else somebody sent it */
	uintptr_t address = (uintptr_t)info->si_addr, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct mapping *mapping = is_fault ? find(address) : NULL;
	int code = errno;

	(void)context;
	if (mapping != NULL && put_zeros((void *)(address - address % page), page, PROT_READ)) {
		atomic_store(&mapping->lost, true);
	} else {
		signal(number, SIG_DFL);
		if (!is_fault)
			raise(number);
	}
	errno = code;
}

struct mapping *
mapping_new(const uint8_t *memory)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	if (sigaction(SIGBUS, &action, NULL) != 0)
		return NULL;
	for (unsigned i = 0; i < MAPPINGS; i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&mappings[i].memory, &none, (uintptr_t)memory))
			continue;
		atomic_store(&mappings[i].lost, false);
		return &mappings[i];
	}
	return NULL;
}

void
mapping_free(struct mapping *mapping)
{
	if (mapping != NULL)
		atomic_store(&mapping->memory, 0);
}

bool
mapping_lost(const struct mapping *mapping)
{
	return atomic_load(&mapping->lost);
}

bool
mapping_put(uint8_t *at, size_t len, int fd, off_t offset)
{
	if (mmap(at, len, PROT_READ, MAP_SHARED | MAP_FIXED, fd, offset) == MAP_FAILED)
		return false;
	/* as far ahead as for a reader */
	madvise(at, len, MADV_SEQUENTIAL);
	return true;
}

void
mapping_rest(const uint8_t *at, size_t len)
{
	madvise((void *)(uintptr_t)at, len, MADV_DONTNEED);
}

bool
mapping_clear(uint8_t *at, size_t len)
{
	return put_zeros(at, len, PROT_READ | PROT_WRITE);
}
