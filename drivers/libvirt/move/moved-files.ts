import { createWriteStream } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { FilePart, FileStart, MoveFile } from '../../move.ts'
import { storageFailure } from '../../storage-failure.ts'
import { startsFromVolume } from '../../volumes.ts'
import { getOwnDomain } from '../domains/own-domains.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import type { InstanceFiles } from '../instance-files.ts'
import { readInstanceRecord } from '../instance-record.ts'
import { isOff } from '../power.ts'
import { SECRET_MODE } from '../spawn.ts'

/** The files of an instance that travel, by their names in a move. */
export const MOVED_NAMES = ['root', 'ephemeral', 'config', 'nvram', 'kernel', 'ramdisk'] as const
const UNCHANGING: readonly MovedName[] = ['config', 'kernel', 'ramdisk']
export type MovedName = (typeof MOVED_NAMES)[number]

/** Where it lies on the host that it leaves. */
function placesBefore(files: InstanceFiles): Readonly<Record<MovedName, string>> {
  const { packed: root, ephemeralDisk: ephemeral, configDrive: config } = files
  const { nvram, kernel, ramdisk } = files
  return { root, ephemeral, config, nvram, kernel, ramdisk }
}

/** Where it lies once the instance has arrived. */
export function placesAfter(files: InstanceFiles): Readonly<Record<MovedName, string>> {
  return { ...placesBefore(files), root: files.rootDisk }
}

/** Where it waits for the instance. */
export function incomingPath({ incoming }: InstanceFiles, name: MovedName): string {
  return join(incoming, name)
}

/** Of an instance that is not packed, and may run, only what never changes. */
export async function movable(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<readonly MoveFile[]> {
  const places = placesBefore(filesOf(host, id))
  const names = (await isPacked(host, id, signal)) ? MOVED_NAMES : UNCHANGING
  const found = await Promise.all(
    names.map(async (name) => ({ name, sizeBytes: await sizeOf(places[name]) })),
  )
  return found.flatMap(({ name, sizeBytes }) =>
    sizeBytes === undefined ? [] : [{ name, sizeBytes }],
  )
}

/** A guest that starts from a volume has no disk to be packed: it need only be off. */
async function isPacked(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<boolean> {
  const files = filesOf(host, id)
  const record = await readInstanceRecord(files)
  if (record === undefined || !startsFromVolume(record))
    return (await sizeOf(files.packed)) !== undefined
  return isOff(host, await getOwnDomain(host.domains, host.owner, id, signal), signal)
}

/** The bytes that are there; fewer than asked for at the end. Throws `not-found` for a file there is not. */
export async function readPart(
  host: LibvirtHost,
  id: InstanceId,
  { name, offset, maxBytes }: FilePart,
): Promise<Uint8Array> {
  const path = placesBefore(filesOf(host, id))[knownName(name)]
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new Failure('not-found', `Instance ${id} has no file ${name} to be moved.`, { cause })
  })
  try {
    const bytes = Buffer.alloc(maxBytes)
    const { bytesRead } = await file.read(bytes, 0, maxBytes, offset)
    return bytes.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Afterwards the bytes wait for the instance. The caller holds its lock. Throws `no-capacity` where they find no room. */
export async function writePart(
  host: LibvirtHost,
  id: InstanceId,
  { name, offset }: FileStart,
  bytes: Uint8Array,
): Promise<void> {
  const files = filesOf(host, id)
  const path = incomingPath(files, knownName(name))
  const flags = offset === 0 ? 'w' : 'r+'
  try {
    if (offset === 0) await mkdir(files.incoming, { recursive: true, mode: 0o711 })
    const stream = createWriteStream(path, { flags, start: offset, mode: SECRET_MODE })
    await finished(stream.end(bytes))
  } catch (error) {
    throw storageFailure(error)
  }
}

function knownName(name: string): MovedName {
  const known = MOVED_NAMES.find((each) => each === name)
  if (known === undefined) throw new Failure('invalid', `An instance has no file ${name}.`)
  return known
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  )
}
