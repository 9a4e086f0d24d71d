/** What a machine does in the ramdisk before it goes off. */
export type RamdiskTask =
  /** Tells what it is made of. */
  | { readonly kind: 'inspect' }
  /** Its first disk begins with the image afterwards, byte by byte. */
  | { readonly kind: 'write'; readonly image: DiskContent }
  /** Its disks hold nothing afterwards. */
  | { readonly kind: 'clean' }

/** A raw disk. */
export interface DiskContent {
  readonly path: string
  readonly sizeBytes: number
  readonly sha256: string
}
