import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { IoErrors } from '../io-errors.ts'
import { Looks } from '../looks.ts'
import { findOwnDomain, instanceOfDomain, isOwn } from './domains/own-domains.ts'
import { hasIoError } from './domains/power-state.ts'
import type { LibvirtHost } from './host.ts'
import type { DomainRef } from './rpc/refs.ts'
import { roomOf } from './volumes/room.ts'
import { isVolumeAlias } from './volumes/volume-device.ts'
import { attributeAt, elementsAt, parseXml, textAt, type XmlTree } from './xml/parse.ts'

/** More than QEMU has in flight for a guest: one that went on with less would be paused again at once. */
const ROOM_BYTES = 64 * 1024 ** 2
const LOOK_MS = 3_000

/** A file system on which disks are. */
interface FileSystem {
  readonly device: number
  readonly freeBytes: number
}

/** A disk that has no room. */
interface FullDisk {
  /** For operators. */
  readonly name: string
  /** Undefined for one that is no file. */
  readonly path: string | undefined
}

/** Guests that QEMU has paused because a write found no room (its error policy `enospc`), which it tries again when they go on. */
export function libvirtIoErrors(host: LibvirtHost): IoErrors {
  const rooms = new Looks(roomIn, LOOK_MS)
  return {
    async resume(signal) {
      const resumed: InstanceId[] = []
      // Each guest that goes on may need all that it asks for.
      const left = new Map<number, number>()
      for (const domain of await host.domains.list(signal)) {
        const id = instanceOfDomain(domain)
        const disks = await fullDisksOf(host, domain, signal)
        if (disks.length === 0 || !(await isOwn(host.domains, host.owner, domain, signal))) continue
        if (!(await takeRoom(host, disks, { rooms, left }, signal))) continue
        if (await resumeIfStill(host, id, signal)) resumed.push(id)
      }
      return resumed
    },
  }
}

/** Which disks of the domain have no room, so that QEMU has paused it; undefined: none, or its user wants it paused. */
export async function noSpaceOf(
  host: Pick<LibvirtHost, 'domains' | 'disks' | 'devices'>,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<string | undefined> {
  const disks = await fullDisksOf(host, domain, signal)
  return disks.length === 0 ? undefined : disks.map(({ name }) => name).join(', ')
}

/** None unless lack of room is all that QEMU has paused the guest for. */
async function fullDisksOf(
  host: Pick<LibvirtHost, 'domains' | 'disks' | 'devices'>,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<readonly FullDisk[]> {
  if (!hasIoError(await host.domains.state(domain, signal))) return []
  if (await host.domains.isHeld(domain, signal)) return []
  const errors = await host.disks.errors(domain, signal)
  if (errors.some(({ isNoSpace }) => !isNoSpace)) return []
  if (errors.length === 0) return []
  const disksIn = (xml: string) => elementsAt(parseXml(xml), 'domain', 'devices', 'disk')
  const live = disksIn(await host.devices.xml(domain, signal))
  const stored = disksIn(await host.disks.definition(domain, signal))
  return errors.map(({ target }) => {
    const isThis = (disk: XmlTree) => attributeAt(disk, 'dev', 'target') === target
    const disk = live.find(isThis) ?? {}
    const isVolume = isVolumeAlias(attributeAt(disk, 'name', 'alias'))
    // A volume that was swapped has the serial number of the former one until the guest starts again.
    const volume = textAt(stored.find(isThis) ?? disk, 'serial')
    const name = isVolume ? `disk ${target}, volume ${volume}` : `disk ${target}`
    return { name, path: attributeAt(disk, 'file', 'source') || undefined }
  })
}

/** True, and the room is taken, where each disk's file system has room; one that does not answer has none. */
async function takeRoom(
  { logger }: LibvirtHost,
  disks: readonly FullDisk[],
  { rooms, left }: { readonly rooms: Looks<FileSystem>; readonly left: Map<number, number> },
  signal: AbortSignal,
): Promise<boolean> {
  const needed = new Set<number>()
  for (const { path } of disks) {
    if (path === undefined) return false
    try {
      const { device, freeBytes } = await rooms.at(dirname(path), signal)
      if ((left.get(device) ?? freeBytes) < ROOM_BYTES) return false
      needed.add(device)
      left.set(device, left.get(device) ?? freeBytes)
    } catch (error) {
      signal.throwIfAborted()
      logger?.warn({ path, ...errorFields(error) }, 'room of a disk could not be read')
      return false
    }
  }
  for (const device of needed) left.set(device, left.get(device)! - ROOM_BYTES)
  return true
}

async function roomIn(folder: string): Promise<FileSystem> {
  const { freeBytes } = await roomOf(folder, AbortSignal.timeout(10 * LOOK_MS))
  const { dev } = await stat(folder)
  return { device: dev, freeBytes }
}

/** False for a guest that has gone on, has been paused by its user or is being worked on: the next round sees to that. */
async function resumeIfStill(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<boolean> {
  const resumed = await host.locks.runIfFree(id, signal, async () => {
    const domain = await findOwnDomain(host.domains, host.owner, id, signal)
    if (domain === undefined || (await noSpaceOf(host, domain, signal)) === undefined) return false
    await host.domains.resume(domain, signal)
    return true
  })
  return resumed ?? false
}
