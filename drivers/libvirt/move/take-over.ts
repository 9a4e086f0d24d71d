import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceSpec } from '../../driver.ts'
import { imageVirtualSize, ownDiskIsOverlay } from '../../image-header.ts'
import type { Evacuation } from '../../move.ts'
import { rebase } from '../../qemu-img.ts'
import { storageFailure } from '../../storage-failure.ts'
import { removeFromHost } from '../destroy.ts'
import { diskSizeIfThere, makeSwap } from '../disks/own-disks.ts'
import { imageFormat } from '../disks/root-disk.ts'
import { filesOf, isReached, type LibvirtHost } from '../host.ts'
import { type InstanceFiles, instanceFiles } from '../instance-files.ts'
import {
  domainSubject,
  type InstanceRecord,
  readInstanceRecord,
  writeInstanceRecord,
} from '../instance-record.ts'
import { defineDomain } from '../redefine.ts'
import { existingDomain, hideFiles } from '../spawn.ts'
import { startDomain } from '../start-domain.ts'
import { admitVolumes, fenceVolumes } from '../volumes/admit-volumes.ts'
import type { AttachedVolume } from '../volumes/volume-device.ts'

const GIVE_BACK_MS = 60_000

/**
 * Takes over the disks that a dead host left where this one sees them; false when it left none. Their folder is
 * renamed, so that only one host can have it. After a failure it is where it was. The caller holds the instance's lock.
 */
export async function takeOver(
  host: LibvirtHost,
  spec: InstanceSpec,
  { runs, ...how }: Evacuation,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await existingDomain(host, spec, signal)) !== undefined) return false
  const files = filesOf(host, spec.id)
  const former = (await readInstanceRecord(files))?.takenFrom ?? (await formerHost(host, spec.id))
  if (former === undefined) return false
  const left = instanceFiles(former, spec.id)
  // Steps that can fail without the disks come first.
  const base = await baseOf(host, spec, [left, files], signal)
  const volumes = await volumesOf(host, [left, files], signal)
  await fenceVolumes(host, volumes, how, signal)
  await takeFolder(left, files, former)
  try {
    await refit(files, base, spec, signal)
    await bringUp(host, spec, { runs, takenFrom: former, volumes }, signal)
  } catch (error) {
    if (!isFailure(error, 'unavailable') || isReached(host)) await giveBack(host, spec.id, left)
    throw storageFailure(error)
  }
  return true
}

/** The state directory of the host that has the instance's disks. Throws `conflict` where it would have to be guessed. */
async function formerHost(host: LibvirtHost, id: InstanceId): Promise<string | undefined> {
  const { sharedFolder, stateDirectory } = host
  if (sharedFolder === undefined) return undefined
  const found: string[] = []
  for (const name of await readdir(sharedFolder)) {
    const other = join(sharedFolder, name)
    if (resolve(other) === resolve(stateDirectory)) continue
    const files = instanceFiles(other, id)
    const isWhole =
      (await readInstanceRecord(files)) !== undefined &&
      (await diskSizeIfThere(files.rootDisk)) !== undefined
    if (isWhole) found.push(other)
  }
  if (found.length > 1)
    throw new Failure('conflict', 'More than one host has disks of the instance.', {
      detail: `move the stale directories among ${found.join(', ')} away`,
    })
  return found[0]
}

type Base = Parameters<typeof rebase>[1]

/** The backing file of the root disk, in whichever folder the disk is; undefined: it needs none. */
async function baseOf(
  host: LibvirtHost,
  { image }: InstanceSpec,
  places: readonly InstanceFiles[],
  signal: AbortSignal,
): Promise<Base | undefined> {
  for (const { rootDisk } of places) {
    if ((await diskSizeIfThere(rootDisk)) === undefined) continue
    if (!(await ownDiskIsOverlay(rootDisk))) return undefined
  }
  return { path: await host.images.path(image, signal), format: imageFormat(image) }
}

/** The instance's volumes, as this host reaches them. Throws `conflict` where it does not. */
async function volumesOf(
  host: LibvirtHost,
  places: readonly InstanceFiles[],
  signal: AbortSignal,
): Promise<readonly AttachedVolume[]> {
  const records = await Promise.all(places.map(readInstanceRecord))
  const volumes = records.find((record) => record?.volumes !== undefined)?.volumes ?? []
  const here = volumes.map(async (volume) => {
    const store = await host.openStore(volume.store, signal).catch((cause: unknown) => {
      if (!isFailure(cause, 'not-found')) throw cause
      const message = `This host does not reach the store of volume ${volume.id}.`
      throw new Failure('conflict', message, { cause })
    })
    return { ...volume, ...(await store.sourceOf(volume.id, signal)) }
  })
  return Promise.all(here)
}

/** Its record stays there as well, so that the host knows what else to remove when it is back. */
async function takeFolder(
  left: InstanceFiles,
  files: InstanceFiles,
  takenFrom: string,
): Promise<void> {
  const record = await readInstanceRecord(left)
  if (record === undefined || (await diskSizeIfThere(left.rootDisk)) === undefined) return
  await writeInstanceRecord(left, { ...record, takenFrom })
  await rm(files.folder, { recursive: true, force: true })
  await rename(left.folder, files.folder)
  await writeInstanceRecord(left, record)
}

/** Afterwards the disks rest on this host's copy of the image, which is verified; the other's is not looked at. */
async function refit(
  files: InstanceFiles,
  base: Base | undefined,
  { flavor }: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  if (base !== undefined) await rebase(files.rootDisk, base, signal)
  if ((await diskSizeIfThere(files.ephemeralDisk)) !== undefined)
    await imageVirtualSize(files.ephemeralDisk, 'qcow2')
  await makeSwap(files, flavor, signal)
}

interface BringUp {
  readonly runs: boolean
  readonly takenFrom: string
  readonly volumes: readonly AttachedVolume[]
}

async function bringUp(
  host: LibvirtHost,
  spec: InstanceSpec,
  { runs, takenFrom, volumes }: BringUp,
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, spec.id)
  const { nics, image } = spec
  const whole: InstanceRecord = {
    ...{ version: 1, imageSha256: image.sha256, nics },
    domain: domainSubject(spec),
    ...(volumes.length > 0 && { volumes }),
  }
  await writeInstanceRecord(files, { ...whole, takenFrom })
  await hideFiles(files)
  for (const nic of nics) await host.networks.plug(nic, signal)
  const domain = await defineDomain(host, spec.id, { ...whole, takenFrom }, signal)
  if (runs) {
    await admitVolumes(host, volumes, signal)
    await startDomain(host, spec.id, domain, signal)
  }
  const { takenFrom: _former, ...record } = (await readInstanceRecord(files))!
  await writeInstanceRecord(files, record)
}

/** The caller's signal may have ended the work, so this one has a limit of its own. */
async function giveBack(host: LibvirtHost, id: InstanceId, left: InstanceFiles): Promise<void> {
  const files = filesOf(host, id)
  try {
    await removeFromHost(host, id, AbortSignal.timeout(GIVE_BACK_MS))
    await rm(left.folder, { recursive: true, force: true })
    await mkdir(join(left.folder, '..'), { recursive: true })
    await rename(files.folder, left.folder)
  } catch (error) {
    host.logger?.error({ ...errorFields(error), instance: id }, 'disks were not given back')
    // Asked again, it goes on with what it has; any other answer would have them removed from here.
    throw new Failure(
      'unavailable',
      'The host could not return the disks that it had taken over.',
      {
        cause: error,
      },
    )
  }
}
