#include "base/format.h"
#include "report/text.h"

void
text_notes(const struct page *page)
{
	page_heading(page, "WHAT THE COLUMNS MEAN");
	print_wrapped(page->out, "  ", "Times are of packets at the capture points: RAW DATA as its titles say; "
	    "total: last byte of the reply - first byte of the call, on the client; server: first byte of the reply - "
	    "last byte of the call, on the server; client: for how long its capture shows that it kept the server waiting "
	    "inside the call (-: not known, then in network); network: total - server - client, that is path, "
	    "transfer, what retransmission added, both hosts' stacks below the capture points. Durations are not rescaled: where the clocks run apart, drift x server is "
	    "in network, too, 1us for each second and ppm.");
	print_wrapped(page->out, "  ", "n, mean, max and the counts of the histograms are exact; p50, p95 and p99 are "
	    "nearest ranks out of a histogram with an error of at most 1 %. B/s counts the data that READ and WRITE "
	    "moved, in bytes; rates are over the capture's first to last packet.");
	page_heading(page, "WHAT A CAPTURE CANNOT SHOW");
	print_wrapped(page->out, "  ", "How long a call waited in the client before it left (for a slot, a connection, "
	    "the page cache); the time from the client's network interface to the application; and what the server did "
	    "inside its time: wait for a thread, file system, disk. None of it is in these numbers.");
}
