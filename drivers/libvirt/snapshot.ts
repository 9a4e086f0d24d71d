import { rm } from 'node:fs/promises'
import type { InstanceId } from '#common/ids.ts'
import { diskFile } from '../disk-file.ts'
import type { DiskImage } from '../driver.ts'
import { copyWhole } from '../qemu-img.ts'
import type { Snapshot } from '../snapshot.ts'
import { backUp } from './back-up.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { OFF, powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { refuseRootVolume } from './volumes/attach.ts'

/** The root disk in `domainXml`. */
export const ROOT_TARGET = 'vda'

/** Copies root disks: of a guest that runs through QEMU, as of the moment the copy began, else the file. */
export function libvirtSnapshot(host: LibvirtHost): Snapshot {
  return {
    take: (id, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => takeSnapshot(host, id, lockSignal)),
  }
}

/** As `Snapshot.take`. The caller holds the instance's lock. */
export async function takeSnapshot(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<DiskImage> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  await refuseRootVolume(host, id)
  const { rootDisk, snapshot } = filesOf(host, id)
  const remove = () => rm(snapshot, { force: true })
  // Removes the files of an interrupted snapshot.
  await remove()
  try {
    const isOff = OFF.has(powerStateOf(await host.domains.state(domain, signal)))
    if (isOff) await copyWhole(rootDisk, snapshot, signal)
    else
      await backUp(host, domain, { target: ROOT_TARGET, format: 'qcow2', path: snapshot }, signal)
    return await diskFile(snapshot, 'qcow2')
  } catch (error) {
    await remove()
    throw error
  }
}
