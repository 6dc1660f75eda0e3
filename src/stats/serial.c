#include "stats/serial.h"

#include "stats/rows.h"

void
serial_add(struct serial *serial, const struct nfs_op *op)
{
	struct serial_file *file;
	bool follows;

	if (!op_has(op, OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_MOVED | OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST) ||
	    op->moved_bytes == 0 || !op_reads(op))
		return;
	serial->reads++;
	file = &serial->file[op->file % SERIAL_FILES];
	follows = file->used && file->file == op->file && file->next_offset == op->file_offset;
	if (follows)
		serial->sequential++;
	if (follows && op->call_first_ns >= file->reply_last_ns) {
		serial->in_turn++;
		serial->bytes += op->moved_bytes;
		serial->time_ns = sum_ns(serial->time_ns, duration_ns(op->call_first_ns, op->reply_last_ns));
		serial->gap_ns = sum_ns(serial->gap_ns, duration_ns(file->reply_last_ns, op->call_first_ns));
	}
	*file = (struct serial_file){
		.file = op->file,
		.next_offset = op->file_offset + op->moved_bytes,
		.reply_last_ns = op->reply_last_ns,
		.used = true,
	};
}

void
serial_merge(struct serial *into, const struct serial *from)
{
	into->reads += from->reads;
	into->sequential += from->sequential;
	into->in_turn += from->in_turn;
	into->bytes += from->bytes;
	into->time_ns = sum_ns(into->time_ns, from->time_ns);
	into->gap_ns = sum_ns(into->gap_ns, from->gap_ns);
}
