#include "universal.h"

#include <string.h>

enum { DECIMALS_MOST = 3, BYTE_MOST = 255, IPV4_BYTES = 4 };

/* The decimal number in front of *end and the dot before it, which *end then stands at; false: there is none. */
static bool
take_last_part(const uint8_t *text, uint32_t *end, uint32_t *value)
{
	uint32_t sum = 0, scale = 1, digits = 0;

	while (*end > 0 && text[*end - 1] >= '0' && text[*end - 1] <= '9' && digits++ < DECIMALS_MOST) {
		sum += scale * (uint32_t)(text[--*end] - '0');
		scale *= 10;
	}
	*value = sum;
	if (digits == 0 || sum > BYTE_MOST)
		return false;
	if (*end > 0 && text[*end - 1] == '.')
		--*end;
	return true;
}

void
universal_read_address(struct xdr_cursor *body, struct said_port *port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, any[IPV4_BYTES];
	uint32_t end, low, high, value, parts = 0;
	const uint8_t *text = xdr_read_opaque(body, UINT32_MAX, &end);
	uint8_t address[IPV4_BYTES];

	port->port = 0;
	port->has_address = false;
	if (text == NULL || !take_last_part(text, &end, &low) || !take_last_part(text, &end, &high))
		return;
	port->port = (uint16_t)(high << 8 | low);
	while (parts < IPV4_BYTES && take_last_part(text, &end, &value))
		address[IPV4_BYTES - ++parts] = (uint8_t)value;
	if (parts < IPV4_BYTES || end > 0 || memcmp(address, any, sizeof any) == 0)
		return;
	memcpy(port->address, mapped, sizeof mapped);
	memcpy(port->address + sizeof mapped, address, sizeof address);
	port->has_address = true;
}

static bool
is_netid(const uint8_t *text, uint32_t len, const char *name)
{
	return text != NULL && len == strlen(name) && memcmp(text, name, len) == 0;
}

void
universal_read(struct xdr_cursor *body, struct said_port *port)
{
	uint32_t len;
	const uint8_t *netid = xdr_read_opaque(body, UINT32_MAX, &len);

	*port = (struct said_port){ .protocol = 0 };
	if (is_netid(netid, len, "tcp") || is_netid(netid, len, "tcp6"))
		port->protocol = PROTOCOL_TCP;
	else if (is_netid(netid, len, "udp") || is_netid(netid, len, "udp6"))
		port->protocol = PROTOCOL_UDP;
	universal_read_address(body, port);
}
