import { rename, rm } from 'node:fs/promises'
import type { InstanceSpec, Rebuild, RebuildOptions } from '../driver.ts'
import { createRootDisk, imageFormat } from './disks/root-disk.ts'
import { writeStartFiles } from './disks/start-files.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { type InstanceRecord, writeInstanceRecord } from './instance-record.ts'
import { cutPower } from './power.ts'
import { getInstanceRecord, redefine } from './redefine.ts'
import type { DomainRef } from './rpc/refs.ts'
import { createOtherDisks, hideFiles } from './spawn.ts'
import { reimageRoot, reimaging } from './volumes/reimage.ts'
import type { AttachedVolume } from './volumes/volume-device.ts'

/** Makes instances again from an image. */
export function libvirtRebuild(host: LibvirtHost): Rebuild {
  return {
    rebuild: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        rebuild(host, spec, how, lockSignal),
      ),
  }
}

interface Rebuilding {
  readonly spec: InstanceSpec
  readonly domain: DomainRef
  readonly record: InstanceRecord
}

async function rebuild(
  host: LibvirtHost,
  spec: InstanceSpec,
  how: RebuildOptions,
  signal: AbortSignal,
): Promise<void> {
  const domain = await getOwnDomain(host.domains, host.owner, spec.id, signal)
  const record = await getInstanceRecord(host, spec.id)
  const files = filesOf(host, spec.id)
  const root = record.volumes?.find(({ isRoot }) => isRoot === true)
  const rebuilding = { spec, domain, record }
  if (root === undefined) await replaceRootDisk(host, rebuilding, signal)
  else if (how.reimages === true) await replaceRootVolume(host, rebuilding, root, signal)
  else await cutPower(host, domain, signal)
  await createOtherDisks(files, spec, how.keepsEphemeral, signal)
  await hideFiles(files)
  await redefine(host, spec, how.runs, signal)
}

/** The new root disk is there before the guest is cut off, so an image that cannot be had costs nothing. */
async function replaceRootDisk(
  host: LibvirtHost,
  { spec, domain, record }: Rebuilding,
  signal: AbortSignal,
): Promise<void> {
  imageFormat(spec.image)
  const files = filesOf(host, spec.id)
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
}

/** The image is there, and fits, before the guest is cut off. The record names the image for as long as it is read. */
async function replaceRootVolume(
  host: LibvirtHost,
  { spec, domain, record }: Rebuilding,
  root: AttachedVolume,
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, spec.id)
  await writeInstanceRecord(files, { ...record, nextImageSha256: spec.image.sha256 })
  const image = await reimaging(host, root, spec.image, signal)
  await cutPower(host, domain, signal)
  await reimageRoot(host, { instance: spec.id, root, image }, signal)
  const { nextImageSha256: _read, ...kept } = record
  await writeInstanceRecord(files, kept)
}
