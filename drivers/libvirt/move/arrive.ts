import { rename, rm, stat } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceSpec } from '../../driver.ts'
import { imageVirtualSize } from '../../image-header.ts'
import { startsFromVolume } from '../../volumes.ts'
import { growDisks, ownDisksOf, refuseShrinking } from '../disks/own-disks.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import type { InstanceFiles } from '../instance-files.ts'
import { recordOfNew, writeInstanceRecord } from '../instance-record.ts'
import { powerOn } from '../power.ts'
import { defineDomain } from '../redefine.ts'
import { existingDomain, hideFiles, orNothing } from '../spawn.ts'
import { startDomain } from '../start-domain.ts'
import { followVolumes } from '../volumes/admit-volumes.ts'
import { locateVolumes, refuseTaken } from '../volumes/attach.ts'
import type { AttachedVolume } from '../volumes/volume-device.ts'
import { incomingPath, MOVED_NAMES, type MovedName, placesAfter } from './moved-files.ts'

const DISKS: readonly MovedName[] = ['root', 'ephemeral']

/**
 * Afterwards the instance is here with the files that were written, and the volumes of its spec. As in a spawn the domain
 * is defined last, so that an existing domain only needs to be started. The caller holds the instance's lock.
 */
export async function arrive(
  host: LibvirtHost,
  spec: InstanceSpec,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const existing = await existingDomain(host, spec, signal)
  if (existing !== undefined) {
    if (runs) await powerOn(host, spec.id, existing, signal)
    return
  }
  await orNothing(host, spec, async () => {
    const files = filesOf(host, spec.id)
    const volumes = await locateVolumes(host, spec, signal)
    await takeIn(files)
    if (!startsFromVolume(spec) && !(await isThere(files.rootDisk)))
      throw new Failure('not-found', `No outcome is known yet for instance ${spec.id}.`)
    const flavor = ownDisksOf(spec.flavor, spec)
    await refuseShrinking(files, flavor)
    await growDisks(files, flavor, signal)
    await moveIn(host, spec, { runs, volumes }, signal)
  })
}

/** Afterwards the instance whose disks are in their places has a domain, which runs if it is to. */
async function moveIn(
  host: LibvirtHost,
  spec: InstanceSpec,
  { runs, volumes }: { readonly runs: boolean; readonly volumes: readonly AttachedVolume[] },
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, spec.id)
  const { nics } = spec
  const record = recordOfNew(spec, volumes)
  await writeInstanceRecord(files, record)
  await followVolumes(host, volumes, signal)
  await refuseTaken(host, spec.id, volumes, signal)
  await hideFiles(files)
  for (const nic of nics) await host.networks.plug(nic, signal)
  const domain = await defineDomain(host, spec.id, record, signal)
  if (runs) await startDomain(host, spec.id, domain, signal)
}

/** Afterwards the files that have come are in their places. The other host may be a stranger's by now: it is not believed. */
export async function takeIn(files: InstanceFiles): Promise<void> {
  const places = placesAfter(files)
  for (const name of MOVED_NAMES) {
    const came = incomingPath(files, name)
    if (!(await isThere(came))) continue
    if (DISKS.includes(name)) await imageVirtualSize(came, 'qcow2')
    await rename(came, places[name])
  }
  await rm(files.incoming, { recursive: true, force: true })
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
