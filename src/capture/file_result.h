/*
 * What reading one packet of a file of any format came to.
 */
#ifndef CAPTURE_FILE_RESULT_H
#define CAPTURE_FILE_RESULT_H

enum file_result {
	FILE_PACKET,
	FILE_END,
	FILE_CUT,	/* ends inside a packet */
	FILE_BLANK,	/* zeros where a packet should begin: laid out in advance and never written */
	FILE_BROKEN,	/* cannot be read, or no packet can look like this */
};

#endif
