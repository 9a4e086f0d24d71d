/** Reads an image file, on a disk or in a store. */
export interface DiskBytes {
  readonly sizeBytes: number
  /** As many bytes from that position on, or fewer at the end of the file. */
  read(first: number, length: number): Promise<Buffer>
  /** All of them, from the first to the last. */
  stream(): AsyncIterable<Uint8Array>
}
