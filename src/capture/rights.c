#include "capture/rights.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <iconv.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/errors.h"

enum { NOBODY = 65534 };

struct rights {
	struct keeper *keeper;
	int device;		/* -1: none */
	bool changes_user;
	bool user_named;	/* by -Z, so that it is a must */
	uid_t user;
	gid_t group;
	bool capable;		/* capabilities could not be given up */
	unsigned calls;		/* rows of the filter in force; 0: none is */
	GString *left;		/* what could not be given up; empty: nothing */
	iconv_t to_utf8, from_utf8;	/* held, as what they load cannot be loaded later */
};

static void
note_left(struct rights *rights, const char *what, const char *why)
{
	g_string_append_printf(rights->left, "%s%s: %s", rights->left->len > 0 ? "; " : "", what, why);
}

/* ---- who ---- */

static bool
wrong_user(GError **error, const char *name, const char *problem)
{
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE, "user '%s': %s", name, problem);
	return false;
}

static bool
read_id(const char *variable, uint32_t *id)
{
	const char *text = g_getenv(variable);
	char *end;
	guint64 value;

	if (text == NULL || !g_ascii_isdigit(*text))
		return false;
	value = g_ascii_strtoull(text, &end, 10);
	*id = (uint32_t)value;
	return *end == '\0' && value > 0 && value < UINT32_MAX;
}

/* sudo tells who called it; where it was root or nobody, nobody is as good as any. */
static void
choose_user(struct rights *rights)
{
	const struct passwd *nobody;

	rights->changes_user = true;
	rights->user = getuid();
	rights->group = getgid();
	if (rights->user != 0)
		return;
	if (read_id("SUDO_UID", &rights->user) && read_id("SUDO_GID", &rights->group))
		return;
	nobody = getpwnam("nobody");
	rights->user = nobody != NULL && nobody->pw_uid != 0 ? nobody->pw_uid : NOBODY;
	rights->group = nobody != NULL && nobody->pw_gid != 0 ? nobody->pw_gid : NOBODY;
}

static bool
take_user(struct rights *rights, const char *name, GError **error)
{
	const struct passwd *entry;

	errno = 0;
	entry = getpwnam(name);
	if (entry == NULL)
		return wrong_user(error, name, errno != 0 ? g_strerror(errno) : "there is none of this name");
	rights->user_named = true;
	rights->user = entry->pw_uid;
	rights->group = entry->pw_gid;
	rights->changes_user = rights->user != getuid() || rights->user != geteuid();
	return !rights->changes_user || geteuid() == 0 ||
	    wrong_user(error, name, "only root may become somebody else");
}

/* Files belong to a person who can be told from the call; else to whom they always did. */
static struct owner
owner_of_files(const struct rights *rights)
{
	static const struct owner as_ever = { (uid_t)-1, (gid_t)-1 };
	uint32_t caller;

	if (rights->changes_user && (rights->user_named || getuid() != 0 || read_id("SUDO_UID", &caller)))
		return (struct owner){ rights->user, rights->group };
	return as_ever;
}

/* Groups first: they may not be changed any more once the user is. */
static bool
change_user(struct rights *rights, GError **error)
{
	if (!rights->changes_user)
		return true;
	if (!CHANGES_USER) {
		note_left(rights, "the user is still root", "a build with coverage writes where root may");
		return true;
	}
	if (setgroups(0, NULL) == 0 && setresgid(rights->group, rights->group, rights->group) == 0 &&
	    setresuid(rights->user, rights->user, rights->user) == 0)
		return true;
	if (rights->user_named) {
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "cannot become user %lu: %s",
		    (unsigned long)rights->user, g_strerror(errno));
		return false;
	}
	note_left(rights, "the user is still root", g_strerror(errno));
	return true;
}

/* ---- capabilities ---- */

static void
limit_capabilities(struct rights *rights, enum phase phase)
{
	const struct phase_rights *may = &phase_rights[phase];
	unsigned had = 0;
	unsigned held[G_N_ELEMENTS(may->capability)];

	if (may->all_capabilities || capng_get_caps_process() != 0)
		return;
	for (unsigned i = 0; i < may->capabilities; i++)
		if (capng_have_capability(CAPNG_PERMITTED, (unsigned)may->capability[i]))
			held[had++] = (unsigned)may->capability[i];
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned i = 0; i < had; i++)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, held[i]);
	/* the bounding set takes a right of its own, and matters to programs that are started: none is */
	(void)!capng_apply(CAPNG_SELECT_BOUNDS);
	rights->capable = capng_apply(CAPNG_SELECT_CAPS) != 0;
	if (rights->capable)
		note_left(rights, "capabilities stay", g_strerror(errno));
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/* ---- system calls ---- */

/* A row's condition with what is only known now; how many there are of them. */
static unsigned
condition_of(const struct rights *rights, const struct call *call, int socket, struct scmp_arg_cmp *condition)
{
	*condition = call->only_if;
	switch (call->value) {
	case CALL_THIS:
		return 1;
	case CALL_OWN_PROCESS:
		condition->datum_a = (scmp_datum_t)getpid();
		return 1;
	case CALL_SOCKET:
		condition->datum_a = (scmp_datum_t)socket;
		return 1;
	case CALL_NOT_DEVICE:
		condition->datum_a = (scmp_datum_t)rights->device;
		return rights->device >= 0 ? 1 : 0;
	case CALL_ANY:
		break;
	}
	return 0;
}

/* 0, or a negative errno. */
static int
add_calls(const struct rights *rights, scmp_filter_ctx filter, enum phase phase, int socket, unsigned *added)
{
	for (unsigned i = 0; i < phase_call_count; i++) {
		const struct call *call = &phase_calls[i];
		uint32_t action = call->error != 0 ? SCMP_ACT_ERRNO((unsigned)call->error) : SCMP_ACT_ALLOW;
		int number = seccomp_syscall_resolve_name(call->name);
		struct scmp_arg_cmp condition;
		unsigned conditions = condition_of(rights, call, socket, &condition);
		int code;

		/* not every machine has all of them */
		if ((call->phases & 1U << phase) == 0 || number < 0)
			continue;
		code = seccomp_rule_add_array(filter, action, number, conditions, &condition);
		if (code != 0)
			return code;
		*added += call->error == 0;
	}
	return 0;
}

static void
filter_calls(struct rights *rights, enum phase phase, int socket)
{
	/* older kernels end the thread alone, by the same signal */
	scmp_filter_ctx filter = seccomp_init(seccomp_api_get() >= 3 ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_KILL_THREAD);
	unsigned added = 0;
	int code = filter == NULL ? -ENOMEM : FILTERS_SYSTEM_CALLS ? 0 : -ENOTSUP;

	/* a search tree instead of a list; no brake for speculation, since nobody's code runs here but ours */
	if (code == 0) {
		seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
		seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
		seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
		seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
		code = add_calls(rights, filter, phase, socket, &added);
	}
	if (code == 0)
		code = seccomp_load(filter);
	if (code == 0)
		rights->calls = added;
	else
		note_left(rights, "system calls are not filtered", FILTERS_SYSTEM_CALLS ? g_strerror(-code) :
		    "a build with sanitizers or coverage needs more of them");
	if (filter != NULL)
		seccomp_release(filter);
}

/* ---- */

/* What libraries load when it is needed first, and could not then; for the keeper, too. */
static void
load_early(struct rights *rights)
{
	const char *charset;

	tzset();
	(void)g_random_int();
	if (g_get_charset(&charset))
		return;
	rights->to_utf8 = iconv_open("UTF-8", charset);
	rights->from_utf8 = iconv_open(charset, "UTF-8");
}

static void
restrict_keeper(void *context, int socket)
{
	struct rights *rights = context;

	struct owner owner = owner_of_files(rights);

	owner_prepare(&owner);
	limit_capabilities(rights, PHASE_KEEP);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	filter_calls(rights, PHASE_KEEP, socket);
}

struct rights *
rights_new(const struct rights_config *config, GError **error)
{
	struct rights *rights = g_new0(struct rights, 1);
	struct keeper_config keeper = {
		.inputs = config->inputs,
		.outputs = config->outputs,
		.save = config->save,
		.restrict_rights = restrict_keeper,
		.restrict_context = rights,
	};

	rights->device = -1;
	rights->to_utf8 = rights->from_utf8 = (iconv_t)-1;
	rights->left = g_string_new(NULL);
	load_early(rights);
	if (config->user == NULL && geteuid() == 0)
		choose_user(rights);
	if (config->user == NULL || take_user(rights, config->user, error)) {
		keeper.owner = owner_of_files(rights);
		rights->keeper = keeper_start(&keeper, error);
	}
	if (rights->keeper != NULL)
		return rights;
	rights_free(rights);
	return NULL;
}

void
rights_free(struct rights *rights)
{
	if (rights == NULL)
		return;
	keeper_free(rights->keeper);
	if (rights->to_utf8 != (iconv_t)-1)
		iconv_close(rights->to_utf8);
	if (rights->from_utf8 != (iconv_t)-1)
		iconv_close(rights->from_utf8);
	g_string_free(rights->left, TRUE);
	g_free(rights);
}

struct keeper *
rights_keeper(const struct rights *rights)
{
	return rights != NULL ? rights->keeper : NULL;
}

void
rights_protect_device(struct rights *rights, int fd)
{
	if (rights != NULL)
		rights->device = fd;
}

bool
rights_enter(struct rights *rights, enum phase phase, GError **error)
{
	if (rights == NULL)
		return true;
	if (phase_rights[phase].ordinary_user && !change_user(rights, error))
		return false;
	limit_capabilities(rights, phase);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (phase_rights[phase].filtered)
		filter_calls(rights, phase, keeper_socket(rights->keeper));
	return true;
}

char *
rights_given_up(const struct rights *rights)
{
	g_autofree char *calls = rights->calls > 0 ? g_strdup_printf("%u kinds of", rights->calls) : g_strdup("all");

	return g_strdup_printf("captures are read as user %lu, %s capabilities, with %s system calls",
	    (unsigned long)geteuid(), rights->capable ? "with" : "without", calls);
}

char *
rights_left(const struct rights *rights)
{
	return rights->left->len > 0 ? g_strdup(rights->left->str) : NULL;
}
