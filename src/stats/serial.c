#include "stats/serial.h"

#include "stats/rows.h"

static void
add_read(struct serial *serial, const struct nfs_op *op)
{
	struct serial_file *file;
	bool follows;

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
serial_add(struct serial *serial, const struct nfs_op *ops, unsigned count)
{
	static const uint32_t needed = OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_MOVED | OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST;

	for (unsigned i = 0; i < count; i++) {
		const struct nfs_op *op = &ops[i];

		if (op_has(op, needed) && (op->outcome == OP_ANSWERED || op->outcome == OP_UNANSWERED) &&
		    op->moved_bytes > 0 && op_reads(op))
			add_read(serial, op);
	}
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
