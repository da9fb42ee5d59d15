/* SPDX-License-Identifier: GPL-2.0 */
/* A QR code of the short form of the report. It can be photographed if the report is not kept. */
#ifndef BTS_KIT_QR_H
#define BTS_KIT_QR_H

#include <stdbool.h>
#include <stdint.h>

#define QR_SIZE		41	/* modules in a row, and rows, of a code of version 6 */
#define QR_MAX_TEXT	195	/* characters that such a code can hold */

/* Each module: 1 is dark, 0 is light. */
struct qr_code {
	uint8_t dark[QR_SIZE][QR_SIZE];
};

/*
 * Make a code of @text: digits, capital letters, spaces, and $ % * + - . / : . Returns false if
 * @text has another character or is longer than QR_MAX_TEXT.
 */
bool qr_make(struct qr_code *code, const char *text);

#endif /* BTS_KIT_QR_H */
