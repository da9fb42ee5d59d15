// SPDX-License-Identifier: GPL-2.0
/*
 * QR codes of ISO/IEC 18004, of one kind only: version 6, error correction L, mask 0, alphanumeric
 * mode. Such a code fits on a text screen of 25 lines, at two modules a character.
 */
#include <stdlib.h>
#include <string.h>

#include "qr.h"

#define BLOCKS		2
#define DATA		68	/* data bytes in a block */
#define CHECK		18	/* check bytes in a block */
#define MODE_ALNUM	2
#define COUNT_BITS	9
#define PAD		0xec11	/* two bytes that fill the rest of the data by turns */
#define FORMAT		0x77c4	/* the format bits for L and mask 0 */
#define ALIGNMENT	34	/* row and column of the center of the alignment pattern */
#define TIMING		6	/* row and column of the timing patterns */

/* The data bytes of a code, of which the first @nr bits have been appended */
struct qr_bits {
	uint8_t byte[BLOCKS * DATA];
	unsigned int nr;
};

static void append(struct qr_bits *bits, unsigned int val, unsigned int nr)
{
	while (nr-- && bits->nr < 8 * sizeof(bits->byte)) {
		bits->byte[bits->nr / 8] |= (val >> nr & 1) << (7 - bits->nr % 8);
		bits->nr++;
	}
}

static int value_of(char c)
{
	static const char set[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
	const char *at = c ? strchr(set, c) : NULL;

	return at ? at - set : -1;
}

static bool encode(struct qr_bits *bits, const char *text)
{
	size_t len = strlen(text), i;
	unsigned int pad = PAD;

	if (len > QR_MAX_TEXT)
		return false;
	append(bits, MODE_ALNUM, 4);
	append(bits, len, COUNT_BITS);
	for (i = 0; i < len; i += 2) {
		int first = value_of(text[i]), second = value_of(text[i + 1]);

		if (first < 0 || (i + 1 < len && second < 0))
			return false;
		if (i + 1 < len)
			append(bits, 45 * first + second, 11);
		else
			append(bits, first, 6);
	}
	/* The end of the text: four bits, fewer if there is no room. Then fill the byte. */
	append(bits, 0, 4);
	append(bits, 0, -bits->nr % 8);
	while (bits->nr < 8 * sizeof(bits->byte)) {
		append(bits, pad >> 8 & 0xff, 8);
		pad = (pad & 0xff) << 8 | pad >> 8;
	}
	return true;
}

/* Multiply in the field of 256 elements whose polynomial is 0x11d. */
static uint8_t multiply(uint8_t a, uint8_t b)
{
	unsigned int product = 0;
	int i;

	for (i = 7; i >= 0; i--) {
		product = product << 1 ^ (product & 0x80 ? 0x11d : 0);
		if (b >> i & 1)
			product ^= a;
	}
	return product;
}

/* Compute the check bytes of a block: the remainder of the division by the generator. */
static void check_bytes(const uint8_t *data, uint8_t *check)
{
	uint8_t generator[CHECK] = { [CHECK - 1] = 1, }, root = 1;
	int i, j;

	for (i = 0; i < CHECK; i++) {
		for (j = 0; j < CHECK; j++) {
			generator[j] = multiply(generator[j], root);
			if (j + 1 < CHECK)
				generator[j] ^= generator[j + 1];
		}
		root = multiply(root, 2);
	}
	memset(check, 0, CHECK);
	for (i = 0; i < DATA; i++) {
		uint8_t factor = data[i] ^ check[0];

		memmove(check, check + 1, CHECK - 1);
		check[CHECK - 1] = 0;
		for (j = 0; j < CHECK; j++)
			check[j] ^= multiply(generator[j], factor);
	}
}

/* Tell whether a module is not for data. */
static bool is_reserved(int row, int column)
{
	if (row == TIMING || column == TIMING)
		return true;
	if (abs(row - ALIGNMENT) <= 2 && abs(column - ALIGNMENT) <= 2)
		return true;
	return (row < 9 && column < 9) || (row < 9 && column >= QR_SIZE - 8) ||
	       (row >= QR_SIZE - 8 && column < 9);
}

/*
 * Draw nested squares around a center. They are light at the distances @light and @light + 2 from
 * the center, else dark.
 */
static void draw_squares(struct qr_code *code, int center_row, int center_column, int size,
			 int light)
{
	int row, column;

	for (row = center_row - size; row <= center_row + size; row++) {
		for (column = center_column - size; column <= center_column + size; column++) {
			int down = abs(row - center_row), right = abs(column - center_column);
			int away = down > right ? down : right;

			if (row >= 0 && row < QR_SIZE && column >= 0 && column < QR_SIZE)
				code->dark[row][column] = away != light && away != light + 2;
		}
	}
}

static void draw_patterns(struct qr_code *code)
{
	int i;

	for (i = 0; i < QR_SIZE; i++) {
		code->dark[TIMING][i] = !(i & 1);
		code->dark[i][TIMING] = !(i & 1);
	}
	draw_squares(code, 3, 3, 4, 2);
	draw_squares(code, 3, QR_SIZE - 4, 4, 2);
	draw_squares(code, QR_SIZE - 4, 3, 4, 2);
	draw_squares(code, ALIGNMENT, ALIGNMENT, 2, 1);
}

/* The format bits stand twice: at the upper left corner, and at the upper right and lower left. */
static void draw_format(struct qr_code *code)
{
	int i;

	for (i = 0; i < 15; i++) {
		int bit = FORMAT >> i & 1;

		if (i < 8) {
			code->dark[i < 6 ? i : i + 1][8] = bit;
			code->dark[8][QR_SIZE - 1 - i] = bit;
		} else {
			code->dark[8][i == 8 ? 7 : 14 - i] = bit;
			code->dark[QR_SIZE - 15 + i][8] = bit;
		}
	}
	code->dark[QR_SIZE - 8][8] = 1;
}

/*
 * Return a bit of the message: the bytes of the blocks by turns, the data bytes before the check
 * bytes. Behind the message, return 0.
 */
static int message_bit(const struct qr_bits *bits, uint8_t check[BLOCKS][CHECK], unsigned int nr)
{
	unsigned int byte = nr / 8, block = byte % BLOCKS, at = byte / BLOCKS;
	uint8_t val = 0;

	if (at < DATA)
		val = bits->byte[block * DATA + at];
	else if (at < DATA + CHECK)
		val = check[block][at - DATA];
	return val >> (7 - nr % 8) & 1;
}

/* The message stands in columns of two modules, from right to left, up and down by turns. */
static void draw_data(struct qr_code *code, const struct qr_bits *bits,
		      uint8_t check[BLOCKS][CHECK])
{
	unsigned int nr = 0;
	int pair, i, up = 1;

	for (pair = QR_SIZE - 1; pair > 0; pair -= 2) {
		if (pair == TIMING)
			pair--;
		for (i = 0; i < 2 * QR_SIZE; i++) {
			int row = up ? QR_SIZE - 1 - i / 2 : i / 2, column = pair - i % 2;

			if (is_reserved(row, column))
				continue;
			/* Mask 0 inverts every second module. */
			code->dark[row][column] = message_bit(bits, check, nr++) ^
						  !((row + column) & 1);
		}
		up = !up;
	}
}

bool qr_make(struct qr_code *code, const char *text)
{
	struct qr_bits bits = { };
	uint8_t check[BLOCKS][CHECK];
	int i;

	if (!encode(&bits, text))
		return false;
	for (i = 0; i < BLOCKS; i++)
		check_bytes(bits.byte + i * DATA, check[i]);
	memset(code, 0, sizeof(*code));
	draw_patterns(code);
	draw_format(code);
	draw_data(code, &bits, check);
	return true;
}
