import { chmod, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { writeConfigDrive } from '../config-drive.ts'
import type { InstanceSpec } from '../driver.ts'
import { createBlank } from '../qemu-img.ts'
import { storageFailure } from '../storage-failure.ts'
import { removeInstance } from './destroy.ts'
import { createChangedRootDisk, createRootDisk, imageFormat } from './disks/root-disk.ts'
import { writeStartFiles } from './disks/start-files.ts'
import { isOwn } from './domains/own-domains.ts'
import { filesOf, isReached, type LibvirtHost } from './host.ts'
import type { InstanceFiles } from './instance-files.ts'
import { recordOfNew, writeInstanceRecord } from './instance-record.ts'
import { powerOn } from './power.ts'
import { defineDomain } from './redefine.ts'
import type { DomainRef } from './rpc/refs.ts'
import { startDomain } from './start-domain.ts'
import { locateVolumes, refuseTaken } from './volumes/attach.ts'
import { lockFailure } from './volumes/openers.ts'

const CLEAN_UP_MS = 60_000
const GIB = 1024 ** 3
const MIB = 1024 ** 2
/** A guest's data and secrets are readable by no other user of the host. */
export const SECRET_MODE = 0o600

/**
 * Afterwards the instance runs. The domain is defined last before it is started, so an instance without a domain
 * is an interrupted spawn and is rebuilt, and one with a domain only needs to be started.
 */
export async function spawn(
  host: LibvirtHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runPreemptible(spec.id, signal, async (spawnSignal) => {
    const existing = await existingDomain(host, spec, spawnSignal)
    if (existing !== undefined) return powerOn(host, spec.id, existing, spawnSignal)
    await orNothing(host, spec, () => build(host, spec, spawnSignal))
  })
}

/** Does the work; nothing of the instance is left on the host when it fails. The caller holds the instance's lock. */
export async function orNothing(
  host: LibvirtHost,
  spec: InstanceSpec,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    // The daemon may have done what it was asked: only a later spawn or destroy can tell.
    if (!isFailure(error, 'unavailable') || isReached(host)) await cleanUp(host, spec)
    throw storageFailure(error)
  }
}

/** The instance's domain, if there is one. Throws `conflict` for one of somebody else's. */
export async function existingDomain(
  host: LibvirtHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<DomainRef | undefined> {
  const domain =
    (await host.domains.find(spec.id, signal)) ?? (await host.domains.findNamed(spec.id, signal))
  if (domain === undefined || (await isOwn(host.domains, host.owner, domain, signal))) return domain
  throw new Failure('conflict', `Instance ${spec.id} cannot be built on this host.`, {
    detail: `domain ${domain.name} of another cell or host has its UUID or name`,
  })
}

async function build(host: LibvirtHost, spec: InstanceSpec, signal: AbortSignal): Promise<void> {
  const volumes = await locateVolumes(host, spec, signal)
  const root = volumes.find(({ isRoot }) => isRoot === true)
  if (root === undefined) imageFormat(spec.image)
  const files = filesOf(host, spec.id)
  await removeInstance(host, spec.id, signal)
  const { nics } = spec
  const record = recordOfNew(spec, volumes)
  await writeInstanceRecord(files, record)
  await refuseTaken(host, spec.id, volumes, signal)
  if (root === undefined) await createRootFiles(host, files, spec, signal)
  await createOtherDisks(files, spec, false, signal)
  await hideFiles(files)
  for (const nic of nics) await host.networks.plug(nic, signal)
  const domain = await defineDomain(host, spec.id, record, signal)
  await startDomain(host, spec.id, domain, signal).catch((error: unknown) => {
    throw volumes[0] === undefined ? error : lockFailure(error, volumes[0].id)
  })
}

/** Afterwards there is all that the instance starts from. */
async function createRootFiles(
  host: LibvirtHost,
  files: InstanceFiles,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  const imagePath = await host.images.path(spec.image, signal)
  await writeStartFiles(host, files, spec.image, signal)
  const { changes } = spec.image
  if (changes === undefined) return createRootDisk(files.rootDisk, imagePath, spec, signal)
  const changesPath = await host.images.path(changes, signal)
  await createChangedRootDisk(files.rootDisk, { imagePath, changesPath }, spec, signal)
}

/** Afterwards the flavor's further disks are new, and so is the config drive, or there is none. */
export async function createOtherDisks(
  files: InstanceFiles,
  { flavor, configDrive }: InstanceSpec,
  keepsEphemeral: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (flavor.ephemeralGb > 0 && !keepsEphemeral)
    await createBlank(files.ephemeralDisk, flavor.ephemeralGb * GIB, signal)
  if (flavor.swapMb > 0) await createBlank(files.swapDisk, flavor.swapMb * MIB, signal)
  await rm(files.configDrive, { force: true })
  if (configDrive !== undefined) await writeConfigDrive(files.configDrive, configDrive, signal)
}

/** Afterwards no other account of the host reads the instance's files. */
export async function hideFiles(files: InstanceFiles): Promise<void> {
  for (const name of await readdir(files.folder)) await chmod(join(files.folder, name), SECRET_MODE)
}

/** The caller's signal may have ended the spawn, so this one has a limit of its own. */
async function cleanUp(host: LibvirtHost, spec: InstanceSpec): Promise<void> {
  try {
    await removeInstance(host, spec.id, AbortSignal.timeout(CLEAN_UP_MS))
  } catch (error) {
    host.logger?.error({ ...errorFields(error), instance: spec.id }, 'failed spawn left something')
    throw new Failure('unavailable', 'The host could not undo the build.', {
      cause: error,
    })
  }
}
