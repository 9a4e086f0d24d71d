/** A task of a machine in the ramdisk, after which it switches itself off. */
export type RamdiskTask =
  /** Tells what it is made of. */
  | { readonly kind: 'inspect' }
  /** Its first disk begins with the image afterwards, byte by byte but for the patches. */
  | ({ readonly kind: 'write' } & DiskWrite)
  /** Its disks hold nothing afterwards. */
  | { readonly kind: 'clean' }

/** A raw disk. */
export interface DiskContent {
  readonly path: string
  readonly sizeBytes: number
  readonly sha256: string
}

/** Further data written over a disk, in whole sectors. */
export interface DiskPatch {
  readonly offsetBytes: number
  readonly content: Buffer
}

export interface DiskWrite {
  readonly image: DiskContent
  /** Written after the image, in this order. */
  readonly patches: readonly DiskPatch[]
}
