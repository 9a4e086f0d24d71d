import { isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { DiskImage } from '#drivers/driver.ts'
import type { ImageTarget } from '../../images/image-client.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'
import type { MovableDisk } from '../kept-disks.ts'

const CLEAN_UP_MS = 10_000

export interface Shelving {
  /** Absent: the guest starts from a volume. */
  readonly target?: Omit<ImageTarget, 'changesOf'>
  /** The image since which changes have been noted. */
  readonly changesOf?: string
  readonly graceMs: number
  /** The guest ran before. */
  readonly runs: boolean
}

/**
 * Afterwards the guest is off and the image holds its root disk, or what has changed of it; one that starts from a volume is
 * gone from the host. After a failure to save its disk it runs again, if it ran before.
 */
export async function shelve(
  compute: Compute,
  id: InstanceId,
  { target, changesOf, graceMs, runs }: Shelving,
  signal: AbortSignal,
): Promise<void> {
  const { driver } = compute
  await driver.stop(id, graceMs, signal)
  if (target === undefined) return offload(compute, id, signal)
  try {
    if (changesOf === undefined) await saveDisk(compute, id, target, signal)
    else await saveChanges(compute, id, { ...target, changesOf }, signal)
  } catch (error) {
    if (runs && isFailure(error) && !isFailure(error, 'unavailable')) await driver.start(id, signal)
    throw error
  }
}

/** Afterwards nothing of the guest is on the host. */
export async function offload(
  { driver, metadata }: Compute,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  await driver.destroy(id, signal)
  await metadata?.remove(id)
}

/** Afterwards the image holds the guest's root disk, as it was at one moment. */
export async function saveDisk(
  compute: Compute,
  id: InstanceId,
  target: ImageTarget,
  signal: AbortSignal,
): Promise<void> {
  await using disk = await driverPart(compute.driver, 'snapshot').take(id, signal)
  await fill(compute, target, disk, signal)
}

/** As `ImageFiller.fill`: the content stays here where it may and can. */
function fill(
  { images, keptDisks }: Compute,
  target: ImageTarget,
  disk: DiskImage,
  signal: AbortSignal,
): Promise<boolean> {
  return target.mayKeep === true && isMovable(disk)
    ? keptDisks.fill(target, disk, signal)
    : images.fill(target, disk, signal)
}

function isMovable(disk: DiskImage): disk is MovableDisk {
  return disk.moveTo !== undefined
}

/**
 * The same of a guest that runs, and from that moment on the host notes what it writes. Nothing is noted where the image had
 * its content before: a repeat that has lost the first answer would note from a later moment on.
 */
export async function saveAndNote(
  compute: Compute,
  id: InstanceId,
  target: ImageTarget,
  signal: AbortSignal,
): Promise<void> {
  const changes = driverPart(compute.driver, 'diskChanges')
  let isFilled: boolean
  try {
    await using disk = await changes.begin(id, signal)
    isFilled = await fill(compute, target, disk, signal)
  } catch (error) {
    // The next beginning forgets it otherwise.
    await changes.forget(id, AbortSignal.timeout(CLEAN_UP_MS)).catch(() => undefined)
    throw error
  }
  if (!isFilled) await changes.forget(id, signal)
}

/** Afterwards the image holds what the guest, which is off, has written since that image; where that is not known, the whole disk. */
async function saveChanges(
  compute: Compute,
  id: InstanceId,
  target: ImageTarget & { readonly changesOf: string },
  signal: AbortSignal,
): Promise<void> {
  const { changesOf: _, ...whole } = target
  try {
    await using disk = await driverPart(compute.driver, 'diskChanges').take(id, signal)
    await fill(compute, target, disk, signal)
  } catch (error) {
    // Such as after a rebuild, a live migration or a loss of power.
    if (!isFailure(error, 'conflict') && !isFailure(error, 'unsupported')) throw error
    await saveDisk(compute, id, whole, signal)
  }
}
