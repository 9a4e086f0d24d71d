import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import { createBlank, type OpenedDisk, qemuImgOnDisk } from '../../../qemu-img.ts'
import type { VolumeEncryption } from '../../../volumes.ts'

/** LUKS1, which QEMU writes: the header has these at these places, big-endian. */
const MAGIC = Buffer.from('LUKS\xba\xbe\x00\x01', 'latin1')
const PAYLOAD_SECTOR_AT = 104
const KEY_BYTES_AT = 108
const HEADER_BYTES = 112
const SECTOR = 512
/** XTS takes two keys. */
const XTS_KEYS = 2

/** What a header says, which no key is needed for. */
export interface LuksHeader extends VolumeEncryption {
  /** Where the content begins. */
  readonly offset: number
}

/** The header of a LUKS file. Throws `internal` for another file; as `open` for none. */
export async function readLuksHeader(path: string): Promise<LuksHeader> {
  const file = await open(path)
  const header = Buffer.alloc(HEADER_BYTES)
  try {
    await file.read(header, 0, HEADER_BYTES, 0)
  } finally {
    await file.close()
  }
  const keyBits = (header.readUInt32BE(KEY_BYTES_AT) * 8) / XTS_KEYS
  if (!header.subarray(0, MAGIC.length).equals(MAGIC) || (keyBits !== 128 && keyBits !== 256))
    throw new Failure('internal', 'An encrypted volume has no LUKS header.', { detail: path })
  return { offset: header.readUInt32BE(PAYLOAD_SECTOR_AT) * SECTOR, keyBits }
}

/** Where the bytes of a disk are, by QEMU's own options. */
export type DiskPlace = Readonly<Record<string, string>> & {
  readonly driver: 'file' | 'qcow2' | 'rbd'
}

/** A disk, as QEMU opens it. */
export interface DiskNode {
  readonly at: DiskPlace
  /** Absent: the format is `format`. */
  readonly key?: string
  /** Of a disk without key; absent: raw. */
  readonly format?: 'raw' | 'qcow2'
}

/** A disk in a file. */
export function inFile(path: string): DiskPlace {
  return { driver: 'file', filename: path }
}

/** The key is random, so QEMU need not slow down those who guess it, as it does for passwords. */
const ITERATION_MS = '10'
/** QEMU says so where the clock counts CPU time coarsely. It measures again at the next try. */
const COARSE_CLOCK = /Unable to get accurate CPU usage/
const TRIES_MAX = 10

/** Afterwards the file, which was not there, is an encrypted disk of so many bytes, which reads as noise. */
export async function makeLuksFile(
  { path, key }: { readonly path: string; readonly key: string },
  { keyBits }: VolumeEncryption,
  bytes: number,
  signal: AbortSignal,
): Promise<void> {
  const cipher = `cipher-alg=aes-${keyBits},cipher-mode=xts,ivgen-alg=plain64,hash-alg=sha256`
  const options = `key-secret=to,${cipher},iter-time=${ITERATION_MS}`
  await withKeyFiles({ to: key }, async (secrets) => {
    const args = ['create', '-q', '-f', 'luks', ...secrets, '-o', options, path, String(bytes)]
    for (let tries = 1; ; tries += 1)
      try {
        return await qemuImgOnDisk(args, signal)
      } catch (error) {
        const isCoarse = isFailure(error) && COARSE_CLOCK.test(error.detail ?? '')
        if (!isCoarse || tries === TRIES_MAX) throw error
        await rm(path, { force: true })
      }
  })
}

/**
 * Afterwards `to`, which is there if it has a key or is no file, and empty, has the content of `from`. QEMU refuses a file that a
 * guest may write meanwhile.
 */
export async function copyNode(from: DiskNode, to: DiskNode, signal: AbortSignal): Promise<void> {
  await withKeyFiles({ from: from.key, to: to.key }, async (secrets) => {
    const source = ['--image-opts', nodeOptions(from, 'from')]
    // What is empty in the source must be written as well: in an encrypted disk nothing is empty.
    const target = isNewFile(to)
      ? ['-O', to.format ?? 'raw', to.at['filename']!]
      : ['-n', ...(to.key === undefined ? ['--target-is-zero'] : [])].concat(
          '--target-image-opts',
          nodeOptions(to, 'to'),
        )
    const args = ['convert', '-q', ...secrets, ...source, ...target]
    // What is left of a process that has died would keep the target open, or write one that is made again.
    await qemuImgOnDisk(args, signal, { endsWithUs: true })
  })
}

/** Does the work with the disk by QEMU's own options. Afterwards no file has its key. */
export async function withDisk(
  node: DiskNode,
  name: 'from' | 'to',
  work: (disk: OpenedDisk) => Promise<void>,
): Promise<void> {
  await withKeyFiles({ [name]: node.key }, (secrets) =>
    work({ options: nodeOptions(node, name), secrets }),
  )
}

/** Content that a header of LUKS needs to be made for; its disk grows afterwards. */
export const LEAST_BYTES = 512

/** Afterwards the qcow2 file, which was not there, holds an encrypted disk of so many bytes, to which `fill` has written. */
export async function makeSealedCopy(
  { path, key }: { readonly path: string; readonly key: string },
  encryption: VolumeEncryption,
  { bytes, fill }: { readonly bytes: number; readonly fill: (to: OpenedDisk) => Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  const at: DiskPlace = { driver: 'qcow2', 'file.driver': 'file', 'file.filename': path }
  const header = `${path}.luks`
  await rm(header, { force: true })
  try {
    await makeLuksFile({ path: header, key }, encryption, LEAST_BYTES, signal)
    await createBlank(path, (await readLuksHeader(header)).offset + bytes, signal)
    await copyNode({ at: inFile(header) }, { at }, signal)
  } finally {
    await rm(header, { force: true })
  }
  await withDisk({ at, key }, 'to', fill)
}

function isNewFile({ at, key }: DiskNode): boolean {
  return key === undefined && at.driver === 'file'
}

/** In options a comma stands twice. */
function nodeOptions({ at, key, format = 'raw' }: DiskNode, secret: string): string {
  const driver = key === undefined ? `driver=${format}` : `driver=luks,key-secret=${secret}`
  const place = Object.entries(at).map(([name, value]) => `file.${name}=${value}`)
  return [driver, ...place.map((each) => each.replaceAll(',', ',,'))].join(',')
}

const SLOTS = 8
const STRIPES = 4_000
/** A header's parts begin at multiples of it. */
const ALIGNED_SECTORS = 8

/** Where the content begins in what QEMU makes with keys of this size, as LUKS1 lays it out. */
export function headerBytes(keyBits: VolumeEncryption['keyBits']): number {
  const keyBytes = (keyBits * XTS_KEYS) / 8
  const slot = Math.ceil((keyBytes * STRIPES) / SECTOR / ALIGNED_SECTORS) * ALIGNED_SECTORS
  return (ALIGNED_SECTORS + SLOTS * slot) * SECTOR
}

/** A file system in memory, so that no key is on a disk. */
const MEMORY = '/dev/shm'

/** Does the work with QEMU's options for secrets of these names. Afterwards no file has a key. */
async function withKeyFiles(
  keys: Readonly<Record<string, string | undefined>>,
  work: (secrets: readonly string[]) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(MEMORY, 'weir-key-'))
  try {
    const secrets: string[] = []
    for (const [name, key] of Object.entries(keys)) {
      if (key === undefined) continue
      const file = join(folder, name)
      await writeFile(file, key, { mode: 0o600 })
      secrets.push('--object', `secret,id=${name},file=${file}`)
    }
    await work(secrets)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
