import { constants } from 'node:fs'
import { copyFile, rename, rm, stat } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceSpec, Resize, ResizeOptions } from '../driver.ts'
import { ownDiskSize } from '../image-header.ts'
import { createBlank, growDisk } from './disks/qemu-img.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import type { InstanceFiles } from './instance-files.ts'
import { powerOff } from './power.ts'
import { redefine } from './redefine.ts'
import { hideFiles } from './spawn.ts'

const GIB = 1024 ** 3
const MIB = 1024 ** 2

/** Gives instances another flavor on the host they are on; their disks before it are kept until it is confirmed. */
export function libvirtResize(host: LibvirtHost): Resize {
  return {
    resize: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        resize(host, spec, how, lockSignal),
      ),
    confirm: (id, signal) =>
      host.locks.run(id, signal, async () => {
        await getOwnDomain(host.domains, host.owner, id, signal)
        await forgetBefore(filesOf(host, id))
      }),
    revert: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        revert(host, spec, how, lockSignal),
      ),
  }
}

async function resize(
  host: LibvirtHost,
  spec: InstanceSpec,
  { runs, graceMs }: ResizeOptions,
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, spec.id)
  const { flavor } = spec
  const domain = await getOwnDomain(host.domains, host.owner, spec.id, signal)
  // 0 GB is as large as the image asks, which the disk already is.
  if (flavor.rootGb > 0) await refuseShrinking(files.rootDisk, flavor.rootGb * GIB)
  await refuseShrinking(files.ephemeralDisk, flavor.ephemeralGb * GIB)
  await powerOff(host, domain, graceMs, signal)
  await keep(files.rootDisk, files.before.rootDisk)
  await keep(files.ephemeralDisk, files.before.ephemeralDisk)
  await grow(files.rootDisk, flavor.rootGb * GIB, signal)
  await grow(files.ephemeralDisk, flavor.ephemeralGb * GIB, signal)
  await makeSwap(files, flavor.swapMb, signal)
  await hideFiles(files)
  await redefine(host, spec, runs, signal)
}

async function revert(
  host: LibvirtHost,
  spec: InstanceSpec,
  { runs, graceMs }: ResizeOptions,
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, spec.id)
  const domain = await getOwnDomain(host.domains, host.owner, spec.id, signal)
  await powerOff(host, domain, graceMs, signal)
  if (spec.flavor.ephemeralGb === 0) await rm(files.ephemeralDisk, { force: true })
  await putBack(files.before.ephemeralDisk, files.ephemeralDisk)
  await putBack(files.before.rootDisk, files.rootDisk)
  await makeSwap(files, spec.flavor.swapMb, signal)
  await hideFiles(files)
  await redefine(host, spec, runs, signal)
}

async function refuseShrinking(path: string, sizeBytes: number): Promise<void> {
  if (((await sizeIfThere(path)) ?? 0) > sizeBytes)
    throw new Failure('invalid', 'Unable to resize disk down.')
}

/** Afterwards `before` is the disk as it was before the resize; an interrupted one has kept it already, or part of it. */
async function keep(disk: string, before: string): Promise<void> {
  const isKept = (await sizeIfThere(before)) !== undefined
  if (isKept || (await sizeIfThere(disk)) === undefined) return
  const partial = `${before}.part`
  await copyFile(disk, partial, constants.COPYFILE_FICLONE)
  await rename(partial, before)
}

async function putBack(before: string, disk: string): Promise<void> {
  if ((await sizeIfThere(before)) !== undefined) await rename(before, disk)
}

async function grow(path: string, sizeBytes: number, signal: AbortSignal): Promise<void> {
  const size = await sizeIfThere(path)
  if (size === undefined && sizeBytes > 0) await createBlank(path, sizeBytes, signal)
  if (size !== undefined && size < sizeBytes) await growDisk(path, sizeBytes, signal)
}

/** Swap holds nothing that outlives a restart. */
async function makeSwap(files: InstanceFiles, swapMb: number, signal: AbortSignal): Promise<void> {
  await rm(files.swapDisk, { force: true })
  if (swapMb > 0) await createBlank(files.swapDisk, swapMb * MIB, signal)
}

async function forgetBefore({ before }: InstanceFiles): Promise<void> {
  for (const path of Object.values(before)) await rm(path, { force: true })
}

async function sizeIfThere(path: string): Promise<number | undefined> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  return isThere ? ownDiskSize(path) : undefined
}
