import { rename, rm } from 'node:fs/promises'
import type { InstanceId } from '#common/ids.ts'
import { copyWhole } from '../../qemu-img.ts'
import { diskSizeIfThere } from '../disks/own-disks.ts'
import { getOwnDomain } from '../domains/own-domains.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import { powerOff, powerOn } from '../power.ts'
import { getInstanceRecord } from '../redefine.ts'
import { hideFiles } from '../spawn.ts'

/**
 * Afterwards the guest is off and its root disk needs no other file: the image it was made from may be gone from the
 * image service by now, and then no other host could get it. The caller holds the instance's lock.
 */
export async function pack(
  host: LibvirtHost,
  id: InstanceId,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  await getInstanceRecord(host, id)
  const files = filesOf(host, id)
  await powerOff(host, domain, graceMs, signal)
  if ((await diskSizeIfThere(files.packed)) !== undefined) return
  const partial = `${files.packed}.part`
  await rm(partial, { force: true })
  await copyWhole(files.rootDisk, partial, signal)
  await rename(partial, files.packed)
  await hideFiles(files)
}

/** Afterwards there is no packed disk, and the guest runs if it is to. The caller holds the instance's lock. */
export async function unpack(
  host: LibvirtHost,
  id: InstanceId,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  const { packed } = filesOf(host, id)
  for (const path of [packed, `${packed}.part`]) await rm(path, { force: true })
  if (runs) await powerOn(host, id, domain, signal)
}
