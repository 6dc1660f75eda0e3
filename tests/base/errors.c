#include <criterion/criterion.h>

#include "base/errors.h"

Test(errors, the_domain_has_a_name_and_is_one)
{
	cr_assert_str_eq(g_quark_to_string(NFSCORR_ERROR), "nfscorr-error-quark");
	cr_assert_eq(NFSCORR_ERROR, nfscorr_error_quark());
}
