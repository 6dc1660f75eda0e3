/* The packets of pcap files. */
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_file(&file_format_pcap, data, size);
	return 0;
}
