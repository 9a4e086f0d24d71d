import { constants } from 'node:fs'
import { copyFile, rename, rm } from 'node:fs/promises'
import type { InstanceSpec, Resize, ResizeOptions } from '../driver.ts'
import {
  diskSizeIfThere,
  growDisks,
  makeSwap,
  ownDisksOf,
  refuseShrinking,
} from './disks/own-disks.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import type { InstanceFiles } from './instance-files.ts'
import { domainSubject, type InstanceRecord, writeInstanceRecord } from './instance-record.ts'
import { placeFor } from './placement/place-on-host.ts'
import { powerOff } from './power.ts'
import { getInstanceRecord, redefine } from './redefine.ts'
import { hideFiles } from './spawn.ts'

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
        await forgetBefore(filesOf(host, id), await getInstanceRecord(host, id))
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
  const record = await getInstanceRecord(host, spec.id)
  const disks = ownDisksOf(flavor, record)
  await refuseShrinking(files, disks)
  // Throws for what this host has not, before the guest is off.
  await placeFor(host, spec.id, domainSubject(spec), signal)
  await powerOff(host, domain, graceMs, signal)
  // Files of an earlier resize, neither confirmed nor reverted, are not the state that a revert of this one restores.
  if (record.resizedTo !== flavor.id) await forgetBefore(files, record)
  await writeInstanceRecord(files, { ...record, resizedTo: flavor.id })
  await keep(files.rootDisk, files.before.rootDisk)
  await keep(files.ephemeralDisk, files.before.ephemeralDisk)
  await growDisks(files, disks, signal)
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
  const record = await getInstanceRecord(host, spec.id)
  await powerOff(host, domain, graceMs, signal)
  if (spec.flavor.ephemeralGb === 0) await rm(files.ephemeralDisk, { force: true })
  await putBack(files.before.ephemeralDisk, files.ephemeralDisk)
  await putBack(files.before.rootDisk, files.rootDisk)
  await makeSwap(files, spec.flavor, signal)
  await writeInstanceRecord(files, withoutResize(record))
  await hideFiles(files)
  await redefine(host, spec, runs, signal)
}

/** Afterwards `before` is the disk as it was before the resize; an interrupted resize has saved it already, or a part. */
async function keep(disk: string, before: string): Promise<void> {
  const isKept = (await diskSizeIfThere(before)) !== undefined
  if (isKept || (await diskSizeIfThere(disk)) === undefined) return
  const partial = `${before}.part`
  await copyFile(disk, partial, constants.COPYFILE_FICLONE)
  await rename(partial, before)
}

async function putBack(before: string, disk: string): Promise<void> {
  if ((await diskSizeIfThere(before)) !== undefined) await rename(before, disk)
}

async function forgetBefore(files: InstanceFiles, record: InstanceRecord): Promise<void> {
  for (const path of Object.values(files.before)) await rm(path, { force: true })
  await writeInstanceRecord(files, withoutResize(record))
}

function withoutResize({ resizedTo: _before, ...record }: InstanceRecord): InstanceRecord {
  return record
}
