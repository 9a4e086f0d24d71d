import { rename, rm } from 'node:fs/promises'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { Evacuation, Move } from '../../move.ts'
import { copyWhole } from '../../qemu-img.ts'
import { startsFromVolume } from '../../volumes.ts'
import { diskSizeIfThere } from '../disks/own-disks.ts'
import { getOwnDomain } from '../domains/own-domains.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import { powerOff, powerOn, stop } from '../power.ts'
import { getInstanceRecord } from '../redefine.ts'
import { existingDomain, hideFiles, spawn } from '../spawn.ts'
import { fenceVolumes, followVolumes } from '../volumes/admit-volumes.ts'
import { locateVolumes } from '../volumes/attach.ts'
import { arrive } from './arrive.ts'
import { movable, readPart, writePart } from './moved-files.ts'
import { takeOver } from './take-over.ts'

/** Carries instances to another libvirt host as the files of their disks. */
export function libvirtMove(host: LibvirtHost): Move {
  return {
    pack: (id, graceMs, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => pack(host, id, graceMs, lockSignal)),
    unpack: (id, runs, signal) => host.locks.run(id, signal, () => unpack(host, id, runs, signal)),
    files: (id, signal) => movable(host, id, signal),
    read: (id, part) => readPart(host, id, part),
    write: (id, at, bytes, signal) =>
      host.locks.run(id, signal, () => writePart(host, id, at, bytes)),
    arrive: (spec, runs, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        arrive(host, spec, runs, lockSignal),
      ),
    evacuate: (spec, how, signal) => evacuate(host, spec, how, signal),
  }
}

/** Afterwards the instance is here, with the disks its host left where this one sees them, else made again from its image. */
async function evacuate(
  host: LibvirtHost,
  spec: InstanceSpec,
  how: Evacuation,
  signal: AbortSignal,
): Promise<void> {
  const isTaken = await host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
    takeOver(host, spec, how, lockSignal),
  )
  if (isTaken) return
  if ((await existingDomain(host, spec, signal)) === undefined)
    await fenceVolumes(host, await locateVolumes(host, spec, signal), how, signal)
  await spawn(host, spec, signal)
  if (!how.runs) await stop(host, spec.id, 0, signal)
}

/**
 * Afterwards the guest is off and its root disk needs no other file: the image it was made from may be gone from the
 * image service by now, and then no other host could get it. Its volumes stay where they are, and it keeps them in case
 * it comes back. The caller holds the instance's lock.
 */
async function pack(
  host: LibvirtHost,
  id: InstanceId,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  const record = await getInstanceRecord(host, id)
  const files = filesOf(host, id)
  await powerOff(host, domain, graceMs, signal)
  if (startsFromVolume(record) || (await diskSizeIfThere(files.packed)) !== undefined) return
  const partial = `${files.packed}.part`
  await rm(partial, { force: true })
  await copyWhole(files.rootDisk, partial, signal)
  await rename(partial, files.packed)
  await hideFiles(files)
}

/** Afterwards there is no packed disk, and the guest runs if it is meant to. The caller holds the instance's lock. */
async function unpack(
  host: LibvirtHost,
  id: InstanceId,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  const { packed } = filesOf(host, id)
  for (const path of [packed, `${packed}.part`]) await rm(path, { force: true })
  if (runs) return powerOn(host, id, domain, signal)
  await followVolumes(host, (await getInstanceRecord(host, id)).volumes ?? [], signal)
}
