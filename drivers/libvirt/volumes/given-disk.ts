import { join } from 'node:path'
import type { VolumeId } from '#common/ids.ts'
import { type ImageFormat, imageVirtualSize } from '../../image-header.ts'
import { VolumeCopies } from '../../volume-copies.ts'
import type { VolumeSpec } from '../../volumes.ts'
import type { LibvirtHost } from '../host.ts'
import { type DiskPlace, headerBytes, inFile } from './encryption/luks-file.ts'
import { formatOfSource } from './store.ts'

/** The copies of volumes that this host has. */
export function volumeCopies({ stateDirectory }: Pick<LibvirtHost, 'stateDirectory'>) {
  return new VolumeCopies(join(stateDirectory, 'volume-copies'))
}

/** A file of this host with the content that a volume begins with. */
export interface GivenDisk {
  readonly path: string
  readonly format: ImageFormat
  /** Of the content. */
  readonly bytes: number
  /** How QEMU opens it: with `keyOf`, which is the volume's own, the file is encrypted inside. */
  readonly disk: {
    readonly at: DiskPlace
    readonly format?: ImageFormat
    readonly keyOf?: VolumeId
  }
}

/** The file from which the volume is to be made, fetched if need be; undefined: it is made from no file. */
export async function givenDisk(
  { images, copies }: Pick<LibvirtHost, 'images'> & { readonly copies: VolumeCopies },
  { id, from, encryption }: Pick<VolumeSpec, 'id' | 'from' | 'encryption'>,
  signal: AbortSignal,
): Promise<GivenDisk | undefined> {
  if (from === undefined || 'volume' in from) return undefined
  if ('image' in from) {
    const format = formatOfSource(from.image)
    const path = await images.path(from.image, signal)
    const bytes = await imageVirtualSize(path, format)
    return { path, format, bytes, disk: { at: inFile(path), format } }
  }
  const path = await copies.find(from.copy)
  const format = 'qcow2'
  const bytes = await imageVirtualSize(path, format)
  if (encryption === undefined) return { path, format, bytes, disk: { at: inFile(path), format } }
  const inner = { driver: 'qcow2', 'file.driver': 'file', 'file.filename': path } as const
  const disk = { at: inner, keyOf: id }
  return { path, format, bytes: bytes - headerBytes(encryption.keyBits), disk }
}
