/*
 * What the program may do, phase by phase: one table of phases, and one of the
 * system calls that are left in those that are filtered.
 */
#ifndef CAPTURE_PHASES_H
#define CAPTURE_PHASES_H

#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>

enum phase {
	PHASE_START,	/* the command line is read, folders are listed, names are looked up */
	PHASE_OPEN,	/* live: the interface is opened */
	PHASE_RUN,	/* packets are read, reports are made; until the end */
	PHASE_KEEP,	/* the keeper's, in a process of its own */
	PHASES,
};

struct phase_rights {
	const char *name;
	bool ordinary_user;	/* -Z, or who called sudo, or nobody, in place of root */
	bool filtered;		/* system calls: none but those of the table */
	bool all_capabilities;	/* that there were at the start; else those listed, of these */
	uint8_t capabilities;
	int capability[8];
};

extern const struct phase_rights phase_rights[PHASES];

/* What an argument is compared with. */
enum call_value {
	CALL_ANY,		/* no condition */
	CALL_THIS,		/* as only_if has it */
	CALL_OWN_PROCESS,	/* the number of the process */
	CALL_SOCKET,		/* the descriptor to the keeper, or to the program */
	CALL_NOT_DEVICE,	/* the descriptor of the interface, to which nothing is written; without one: no condition */
};

/*
 * A call that is in no row of a phase ends the program: it is none that we make,
 * and the state of the program is not known any more. What libraries try, and can
 * do without, fails with an error instead.
 */
struct call {
	const char *name;
	uint8_t phases;		/* 1 << phase, ... */
	enum call_value value;
	struct scmp_arg_cmp only_if;
	int error;		/* 0: allowed; else what it fails with */
};

extern const struct call phase_calls[];
extern const unsigned phase_call_count;

#endif
