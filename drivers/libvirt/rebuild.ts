import { rename, rm } from 'node:fs/promises'
import type { InstanceSpec, Rebuild, RebuildOptions } from '../driver.ts'
import { createRootDisk, imageFormat } from './disks/root-disk.ts'
import { writeStartFiles } from './disks/start-files.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { writeInstanceRecord } from './instance-record.ts'
import { cutPower } from './power.ts'
import { getInstanceRecord, redefine } from './redefine.ts'
import { createOtherDisks, hideFiles } from './spawn.ts'
import { refuseRootVolume } from './volumes/attach.ts'

/** Makes instances again from an image. */
export function libvirtRebuild(host: LibvirtHost): Rebuild {
  return {
    rebuild: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        rebuild(host, spec, how, lockSignal),
      ),
  }
}

/** The new root disk is there before the guest is cut off, so an image that cannot be had costs nothing. */
async function rebuild(
  host: LibvirtHost,
  spec: InstanceSpec,
  { keepsEphemeral, runs }: RebuildOptions,
  signal: AbortSignal,
): Promise<void> {
  imageFormat(spec.image)
  await refuseRootVolume(host, spec.id)
  const files = filesOf(host, spec.id)
  const domain = await getOwnDomain(host.domains, host.owner, spec.id, signal)
  const record = await getInstanceRecord(host, spec.id)
  const { sha256 } = spec.image
  await writeInstanceRecord(files, { ...record, nextImageSha256: sha256 })
  const nextDisk = `${files.rootDisk}.next`
  await rm(nextDisk, { force: true })
  const imagePath = await host.images.path(spec.image, signal)
  await createRootDisk(nextDisk, imagePath, spec, signal)
  await cutPower(host, domain, signal)
  await rename(nextDisk, files.rootDisk)
  const { nextImageSha256: _before, ...kept } = record
  await writeInstanceRecord(files, { ...kept, imageSha256: sha256 })
  await writeStartFiles(host, files, spec.image, signal)
  await createOtherDisks(files, spec, keepsEphemeral, signal)
  await hideFiles(files)
  await redefine(host, spec, runs, signal)
}
