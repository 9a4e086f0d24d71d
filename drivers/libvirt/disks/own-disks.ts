import { rm, stat } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { FlavorSpec } from '../../driver.ts'
import { ownDiskSize } from '../../image-header.ts'
import { createBlank, growDisk } from '../../qemu-img.ts'
import { type AttachmentSpec, startsFromVolume } from '../../volumes.ts'
import type { InstanceFiles } from '../instance-files.ts'

const GIB = 1024 ** 3
const MIB = 1024 ** 2

/** The flavor of an instance's own disks: of one that starts from a volume, the first disk is none of them. */
export function ownDisksOf(
  flavor: FlavorSpec,
  of: { readonly volumes?: readonly AttachmentSpec[] | undefined },
): FlavorSpec {
  return startsFromVolume(of) ? { ...flavor, rootGb: 0 } : flavor
}

/** Throws `invalid` when one of the instance's disks is larger than the flavor has it. */
export async function refuseShrinking(files: InstanceFiles, flavor: FlavorSpec): Promise<void> {
  // 0 GB is as large as the image asks, which the disk already is.
  if (flavor.rootGb > 0) await refuseSmaller(files.rootDisk, flavor.rootGb * GIB)
  await refuseSmaller(files.ephemeralDisk, flavor.ephemeralGb * GIB)
}

/** Afterwards the instance's disks are as large as the flavor says, and its swap is empty. */
export async function growDisks(
  files: InstanceFiles,
  flavor: FlavorSpec,
  signal: AbortSignal,
): Promise<void> {
  await grow(files.rootDisk, flavor.rootGb * GIB, signal)
  await grow(files.ephemeralDisk, flavor.ephemeralGb * GIB, signal)
  await makeSwap(files, flavor, signal)
}

/** Afterwards it is new and empty, or there is none: swap holds nothing that outlives a restart. */
export async function makeSwap(
  { swapDisk }: InstanceFiles,
  { swapMb }: FlavorSpec,
  signal: AbortSignal,
): Promise<void> {
  await rm(swapDisk, { force: true })
  if (swapMb > 0) await createBlank(swapDisk, swapMb * MIB, signal)
}

/** In bytes, as a guest sees it; undefined for a disk there is not. */
export async function diskSizeIfThere(path: string): Promise<number | undefined> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  return isThere ? ownDiskSize(path) : undefined
}

async function refuseSmaller(path: string, sizeBytes: number): Promise<void> {
  if (((await diskSizeIfThere(path)) ?? 0) > sizeBytes)
    throw new Failure('invalid', 'Unable to resize disk down.')
}

async function grow(path: string, sizeBytes: number, signal: AbortSignal): Promise<void> {
  const size = await diskSizeIfThere(path)
  if (size === undefined && sizeBytes > 0) await createBlank(path, sizeBytes, signal)
  if (size !== undefined && size < sizeBytes) await growDisk(path, sizeBytes, signal)
}
