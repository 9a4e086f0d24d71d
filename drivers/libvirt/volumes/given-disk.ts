import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import { type ImageFormat, imageVirtualSize } from '../../image-header.ts'
import { VolumeCopies } from '../../volume-copies.ts'
import type { VolumeEncryption, VolumeSpec } from '../../volumes.ts'
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
  const file = await fileOf(from, { images, copies }, signal)
  const { path, format } = file
  const bytes = await imageVirtualSize(path, format)
  const sealedAs = encryptionInside(from, encryption)
  if (sealedAs === undefined) return { ...file, bytes, disk: { at: inFile(path), format } }
  if (format !== 'qcow2')
    throw new Failure('invalid', `The encrypted content of volume ${id} is in format ${format}.`)
  const at = { driver: 'qcow2', 'file.driver': 'file', 'file.filename': path } as const
  return { ...file, bytes: bytes - headerBytes(sealedAs.keyBits), disk: { at, keyOf: id } }
}

/** How the content is encrypted in the file; undefined: it is not. */
function encryptionInside(
  from: FromFile,
  encryption: VolumeEncryption | undefined,
): VolumeEncryption | undefined {
  if ('image' in from) return undefined
  return ('copy' in from ? from.sealedAs : undefined) ?? encryption
}

type FromFile = Exclude<NonNullable<VolumeSpec['from']>, { readonly volume: VolumeId }>

async function fileOf(
  from: FromFile,
  { images, copies }: Pick<LibvirtHost, 'images'> & { readonly copies: VolumeCopies },
  signal: AbortSignal,
): Promise<Pick<GivenDisk, 'path' | 'format'>> {
  if ('copy' in from) return { path: await copies.find(from.copy), format: 'qcow2' }
  const image = 'image' in from ? from.image : from.sealedImage
  const format = formatOfSource(image)
  return { path: await images.path(image, signal), format }
}
