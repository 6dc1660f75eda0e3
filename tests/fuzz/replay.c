/*
 * Runs a fuzz target over files, without a fuzzer: the corpus as a test. TAP
 * on standard output, one line a file; a target that finds fault aborts.
 */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
main(int argc, char **argv)
{
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		g_autofree char *name = g_path_get_basename(argv[i]);
		g_autofree char *data = NULL;
		gsize size;

		if (!g_file_get_contents(argv[i], &data, &size, NULL)) {
			printf("not ok %d - %s cannot be read\n", i, name);
			continue;
		}
		/* the copy has no byte to spare: reading past the input is seen */
		g_autofree uint8_t *exact = g_memdup2(data, size);

		fflush(stdout);
		LLVMFuzzerTestOneInput(exact, size);
		printf("ok %d - %s\n", i, name);
	}
	return 0;
}
