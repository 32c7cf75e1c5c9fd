// How elements lie in raw buffers of 32-bit words. Part of every kernel; see kernels/hlsl/render.h.
// Elements are computed as bits, in a uint, or in a uint2 (low word first) where they have 64 bits.
// Signed elements of fewer than 32 bits are extended.

uint Uint8(uint word, uint shift) { return word >> shift & 0xff; }

uint Uint16(uint word, uint shift) { return word >> shift & 0xffff; }

uint Int8(uint word, uint shift) { return uint(int(word << (24 - shift)) >> 24); }

uint Int16(uint word, uint shift) { return uint(int(word << (16 - shift)) >> 16); }

uint Pack8(uint a, uint b, uint c, uint d) {
  return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24;
}

uint Pack16(uint a, uint b) { return (a & 0xffff) | b << 16; }

