/** The formats this service can look into; Glance's other ones are refused at creation. */
export const DISK_FORMATS = [
  'raw',
  'qcow2',
  'iso',
  'vmdk',
  'vdi',
  'vhd',
  'ami',
  'aki',
  'ari',
] as const
export type DiskFormat = (typeof DISK_FORMATS)[number]

/** What hosts call an archive that only a container engine reads, and Glance a raw disk in a docker container. */
const DOCKER = 'docker'

/** The format of an image as hosts know it; null while it has none. */
export function hostFormat({
  diskFormat,
  containerFormat,
}: {
  readonly diskFormat: string | null
  readonly containerFormat: string | null
}): string | null {
  return containerFormat === DOCKER ? DOCKER : diskFormat
}

/** The formats of what a host has saved, as the image service knows them; undefined for one that it cannot look into. */
export function savedFormats(
  hosts: string,
): { readonly diskFormat: DiskFormat; readonly containerFormat: 'bare' | 'docker' } | undefined {
  if (hosts === DOCKER) return { diskFormat: 'raw', containerFormat: DOCKER }
  const diskFormat = DISK_FORMATS.find((known) => known === hosts)
  return diskFormat && { diskFormat, containerFormat: 'bare' }
}

/** The required format of a content; 'any': every format that is harmless. */
export type WantedFormat = DiskFormat | 'any'

/** The beginning of a content, and its size: enough to tell its format without reading the rest. */
export interface Sample {
  /** The first bytes, at most HEAD_BYTES; all there is when the content is shorter. */
  readonly head: Buffer
  /** The last bytes, at most TAIL_BYTES. */
  readonly tail: Buffer
  readonly sizeBytes: number
}

/** Reaches past an ISO 9660 volume descriptor and a VMDK's embedded descriptor. */
export const HEAD_BYTES = 128 * 1024
/** A fixed VHD has nothing but a trailer. */
export const TAIL_BYTES = 512

/** Larger sizes are false: no file system here holds such a disk, and 2^53 bounds the arithmetic. */
export const VIRTUAL_SIZE_MAX = 2 ** 50

/** Packings of a disk that this service takes; all but `bare` and `docker` mean the same bytes. */
export const CONTAINER_FORMATS = ['bare', 'ami', 'aki', 'ari', 'docker'] as const
