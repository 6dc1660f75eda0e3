#include "base/errors.h"

/* G_DEFINE_QUARK keeps the quark in a writable static; errors are rare enough to look it up. */
GQuark
nfscorr_error_quark(void)
{
	return g_quark_from_static_string("nfscorr-error-quark");
}
