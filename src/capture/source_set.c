#include "capture/source_set.h"

#include <string.h>

#include "base/errors.h"
#include "capture/keeper.h"

struct member {
	char *path;
	int64_t first_ns;
	struct source *source;		/* while it is being read */
	struct source_facts facts;	/* name points to path */
};

struct source_set {
	GArray *members;		/* struct member */
	struct member empty;		/* the first one without packets, while no other is there; no path: none */
	const struct source_config *config;
	unsigned at;
	struct source *reading;		/* of the member at that place; NULL: not open yet */
	uint64_t frame_base;		/* packets of the files in front */
	uint64_t frames;
	uint64_t all_bytes;
	uint64_t done_bytes;		/* of files that were read */
	GPtrArray *comments;		/* of the files, copied */
	char *interface[FILE_INTERFACES];	/* names, copied */
	bool interface_varies[FILE_INTERFACES];	/* the files do not agree: it has no name */
	GMutex lock;			/* members' sources change while another thread asks for the position */
	GError *trouble;
	source_gone_fn *gone;
	void *gone_context;
	bool can_rewind;
};

static void
member_clear(gpointer data)
{
	struct member *member = data;

	source_free(member->source);
	g_free(member->path);
}

static gint
by_first_stamp(gconstpointer a, gconstpointer b)
{
	const struct member *first = a, *second = b;

	if (first->first_ns != second->first_ns)
		return first->first_ns < second->first_ns ? -1 : 1;
	return strcmp(first->path, second->path);
}

static void
keep_trouble(struct source_set *set, GError *error)
{
	if (set->trouble == NULL)
		set->trouble = error;
	else
		g_error_free(error);
}

/* Files without packets count only if there are no others: then the first of them stands for all. */
static void
keep_empty(struct source_set *set, struct member *member)
{
	source_free(member->source);
	member->source = NULL;
	if (set->empty.path == NULL)
		set->empty = *member;
	else
		member_clear(member);
}

static void
settle_empty(struct source_set *set)
{
	if (set->members->len > 0 || set->empty.path == NULL) {
		member_clear(&set->empty);
		return;
	}
	set->all_bytes += set->empty.facts.bytes;
	g_array_append_val(set->members, set->empty);
}

/* Opens a file and, in a set, looks at its first packet. */
static bool
add_member(struct source_set *set, const char *path, bool alone, GError **error)
{
	struct member member = { .path = g_strdup(path) };
	GError *broken = NULL;

	member.source = source_open(path, set->config, error);
	if (member.source == NULL) {
		g_free(member.path);
		return false;
	}
	member.facts = *source_facts(member.source);
	member.facts.name = member.path;
	set->can_rewind &= source_can_rewind(member.source);
	if (!alone) {
		struct packet first;
		enum source_result result = source_next(member.source, &first, &broken);

		if (result == SOURCE_BROKEN)
			keep_trouble(set, broken);
		if (result != SOURCE_PACKET) {
			keep_empty(set, &member);
			return true;
		}
		member.first_ns = first.ts_ns;
		source_free(member.source);
		member.source = NULL;
	}
	set->all_bytes += member.facts.bytes;
	g_array_append_val(set->members, member);
	return true;
}

struct source_set *
source_set_open(const char *const *paths, const struct source_config *config, GError **error)
{
	struct source_set *set = g_new0(struct source_set, 1);
	bool alone = paths[0] != NULL && paths[1] == NULL, good = true, opened = false;

	g_mutex_init(&set->lock);
	set->config = config;
	set->can_rewind = true;
	set->comments = g_ptr_array_new_with_free_func(g_free);
	set->members = g_array_new(FALSE, TRUE, sizeof(struct member));
	g_array_set_clear_func(set->members, member_clear);
	for (unsigned i = 0; paths[i] != NULL; i++) {
		GError *failed = NULL;

		if (add_member(set, paths[i], alone, &failed)) {
			opened = true;
			continue;
		}
		good &= !g_error_matches(failed, NFSCORR_ERROR, NFSCORR_ERROR_USAGE);
		keep_trouble(set, failed);
	}
	settle_empty(set);
	if (!good || (!opened && set->trouble != NULL)) {
		g_propagate_error(error, g_steal_pointer(&set->trouble));
		source_set_free(set);
		return NULL;
	}
	g_array_sort(set->members, by_first_stamp);
	return set;
}

void
source_set_free(struct source_set *set)
{
	if (set == NULL)
		return;
	g_array_free(set->members, TRUE);
	g_ptr_array_free(set->comments, TRUE);
	for (unsigned i = 0; i < FILE_INTERFACES; i++)
		g_free(set->interface[i]);
	g_mutex_clear(&set->lock);
	g_clear_error(&set->trouble);
	g_free(set);
}

void
source_set_on_gone(struct source_set *set, source_gone_fn *gone, void *context)
{
	set->gone = gone;
	set->gone_context = context;
	for (unsigned i = 0; i < set->members->len; i++) {
		struct member *member = &g_array_index(set->members, struct member, i);

		if (member->source != NULL)
			source_on_gone(member->source, gone, context);
	}
}

static void
keep_interfaces(struct source_set *set, const struct source *source)
{
	for (unsigned i = 0; i < FILE_INTERFACES; i++) {
		const char *name = source_interface(source, i);

		if (name == NULL || set->interface_varies[i] || g_strcmp0(name, set->interface[i]) == 0)
			continue;
		set->interface_varies[i] = set->interface[i] != NULL;
		g_free(set->interface[i]);
		set->interface[i] = set->interface_varies[i] ? NULL : g_strdup(name);
	}
}

/* What a file said of itself until its end; its comments go with it. */
static void
keep_facts(struct source_set *set, struct member *member)
{
	if (member->source == NULL)
		return;
	member->facts = *source_facts(member->source);
	member->facts.name = member->path;
	for (unsigned i = 0; i < member->facts.comments && set->comments->len < FILE_COMMENTS; i++)
		g_ptr_array_add(set->comments, g_strdup(member->facts.comment[i]));
	member->facts.comments = 0;
	keep_interfaces(set, member->source);
}

/* The file that is being read is over: on to the next one. */
static void
advance(struct source_set *set, struct member *member)
{
	keep_facts(set, member);
	g_mutex_lock(&set->lock);
	source_free(member->source);
	member->source = set->reading = NULL;
	set->done_bytes += member->facts.bytes;
	set->at++;
	g_mutex_unlock(&set->lock);
	set->frame_base += set->frames;
	set->frames = 0;
}

static bool
open_member(struct source_set *set, struct member *member)
{
	GError *error = NULL;
	struct source *source;

	if (member->source != NULL)
		return true;
	source = source_open(member->path, set->config, &error);
	if (source == NULL) {
		keep_trouble(set, error);
		return false;
	}
	source_on_gone(source, set->gone, set->gone_context);
	g_mutex_lock(&set->lock);
	member->source = source;
	g_mutex_unlock(&set->lock);
	return true;
}

enum source_result
source_set_next(struct source_set *set, struct packet *packet)
{
	for (;;) {
		GError *error = NULL;
		struct member *member;

		if (G_LIKELY(set->reading != NULL)) {
			enum source_result result = source_next(set->reading, packet, &error);

			if (G_LIKELY(result == SOURCE_PACKET)) {
				set->frames = packet->frame;
				packet->frame += set->frame_base;
				return SOURCE_PACKET;
			}
			if (result == SOURCE_BROKEN)
				keep_trouble(set, error);
			advance(set, &g_array_index(set->members, struct member, set->at));
		}
		if (set->at == set->members->len)
			return SOURCE_END;
		member = &g_array_index(set->members, struct member, set->at);
		if (open_member(set, member))
			set->reading = member->source;
		else
			advance(set, member);
	}
}

unsigned
source_set_more(struct source_set *set, struct packet *packets, unsigned most)
{
	unsigned count = set->reading != NULL ? source_more(set->reading, packets, most) : 0;

	if (count > 0)
		set->frames = packets[count - 1].frame;
	for (unsigned i = 0; set->frame_base > 0 && i < count; i++)
		packets[i].frame += set->frame_base;
	return count;
}

void
source_set_look_ahead(const struct source_set *set, struct ahead *ahead)
{
	if (set->reading != NULL)
		source_look_ahead(set->reading, ahead);
	else
		ahead->place = ahead->end = 0;
}

const GError *
source_set_trouble(const struct source_set *set)
{
	return set->trouble;
}

unsigned
source_set_count(const struct source_set *set)
{
	return set->members->len;
}

const struct source_facts *
source_set_facts(const struct source_set *set, unsigned index)
{
	return &g_array_index(set->members, struct member, index).facts;
}

const char *const *
source_set_comments(const struct source_set *set, unsigned *count)
{
	*count = set->comments->len;
	return (const char *const *)set->comments->pdata;
}

const char *const *
source_set_interfaces(const struct source_set *set)
{
	return (const char *const *)set->interface;
}

void
source_set_position(const struct source_set *set, uint64_t *done, uint64_t *all)
{
	GMutex *lock = (GMutex *)&set->lock;

	g_mutex_lock(lock);
	*done = set->done_bytes;
	if (set->at < set->members->len) {
		const struct member *member = &g_array_index(set->members, struct member, set->at);

		if (member->source != NULL)
			*done += source_position(member->source);
	}
	*all = set->all_bytes;
	g_mutex_unlock(lock);
}

bool
source_set_can_rewind(const struct source_set *set)
{
	return set->can_rewind;
}

bool
source_set_has_stream(const char *const *paths, const struct source_config *config)
{
	for (unsigned i = 0; paths[i] != NULL; i++)
		if (keeper_kind(config->keeper, paths[i]) == KEEPER_STREAM)
			return true;
	return false;
}

bool
source_set_try(const char *const *paths, const struct source_config *config, GError **error)
{
	struct source_set *set;

	if (source_set_has_stream(paths, config))
		return true;
	/* one that holds files stands for them and is not here any more */
	if (paths[0] != NULL && keeper_kind(config->keeper, paths[0]) == KEEPER_FOLDER) {
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "%s: a directory without a file in it", paths[0]);
		return false;
	}
	set = source_set_open(paths, config, error);
	source_set_free(set);
	return set != NULL;
}
