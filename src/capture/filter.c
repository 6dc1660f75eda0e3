#include "capture/filter.h"

#include <errno.h>
#include <pcap/pcap.h>

#include "base/errors.h"
#include "capture/file.h"
#include "capture/link.h"

/* The filter, compiled for a link type. */
struct program {
	int link_type;
	struct bpf_program code;
	char *problem;		/* why it could not be; NULL: it was */
};

struct filter {
	char *text;
	GArray *programs;	/* struct program, in the order of link.c */
};

static void
program_clear(gpointer data)
{
	struct program *program = data;

	if (program->problem == NULL)
		pcap_freecode(&program->code);
	g_free(program->problem);
}

/* It is not given to libpcap as a filter, which would not count the packets that it drops: frame numbers are the file's. */
static void
compile(struct program *program, const char *text)
{
	pcap_t *pcap = pcap_open_dead(program->link_type, FILE_CAPTURED_MOST);

	if (pcap == NULL)
		program->problem = g_strdup(g_strerror(ENOMEM));
	else if (pcap_compile(pcap, &program->code, text, 1, PCAP_NETMASK_UNKNOWN) != 0)
		program->problem = g_strdup(pcap_geterr(pcap));
	if (pcap != NULL)
		pcap_close(pcap);
}

struct filter *
filter_new(const char *text, GError **error)
{
	struct filter *filter = g_new0(struct filter, 1);
	struct program program = { 0 };
	bool good = false;

	filter->text = g_strdup(text);
	filter->programs = g_array_new(FALSE, TRUE, sizeof program);
	g_array_set_clear_func(filter->programs, program_clear);
	for (unsigned i = 0; link_type_at(i, &program.link_type); i++) {
		compile(&program, text);
		good |= program.problem == NULL;
		g_array_append_val(filter->programs, program);
		program = (struct program){ 0 };
	}
	if (good)
		return filter;
	filter_fits(filter, g_array_index(filter->programs, struct program, 0).link_type, error);
	filter_free(filter);
	return NULL;
}

void
filter_free(struct filter *filter)
{
	if (filter == NULL)
		return;
	g_array_free(filter->programs, TRUE);
	g_free(filter->text);
	g_free(filter);
}

static const struct program *
program_of(const struct filter *filter, int link_type)
{
	const struct program *programs = (const struct program *)filter->programs->data;

	for (unsigned i = 0; i < filter->programs->len; i++)
		if (programs[i].link_type == link_type)
			return &programs[i];
	return NULL;
}

bool
filter_fits(const struct filter *filter, int link_type, GError **error)
{
	const struct program *program = program_of(filter, link_type);

	if (program != NULL && program->problem == NULL)
		return true;
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE, "filter '%s': %s", filter->text,
	    program != NULL ? program->problem : "not for this link type");
	return false;
}

bool
filter_passes(const struct filter *filter, const struct packet *packet)
{
	struct pcap_pkthdr header = { .caplen = packet->cap_len, .len = packet->wire_len };
	const struct program *program = program_of(filter, packet->link_type);

	return program != NULL && program->problem == NULL &&
	    pcap_offline_filter(&program->code, &header, packet->data) != 0;
}
