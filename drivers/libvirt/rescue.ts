import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import { writeConfigDrive } from '../config-drive.ts'
import { type Rescue, type RescueSpec, refuseUnstable } from '../rescue.ts'
import { startsFromVolume } from '../volumes.ts'
import { createRootDisk, imageFormat } from './disks/root-disk.ts'
import { writeStartFiles } from './disks/start-files.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { rescueDevice } from './domains/rescue-device.ts'
import { filesOf, isReached, type LibvirtHost } from './host.ts'
import type { InstanceFiles } from './instance-files.ts'
import {
  type InstanceRecord,
  imagesInUse,
  removeRescueFiles,
  withoutRescue,
  writeInstanceRecord,
} from './instance-record.ts'
import { cutPower, isOff, powerOff, powerOn } from './power.ts'
import { defineDomain, getInstanceRecord } from './redefine.ts'
import type { DomainRef } from './rpc/refs.ts'
import { hideFiles } from './spawn.ts'
import { attributeAt, elementsAt, parseXml } from './xml/parse.ts'

const TAKE_BACK_MS = 60_000
const OF_IMAGE_SIZE = { name: 'rescue', rootGb: 0 }

/** Boots guests from another image, beside their own disks. */
export function libvirtRescue(host: LibvirtHost): Rescue {
  return {
    rescue: (id, spec, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => rescue(host, id, spec, lockSignal)),
    unrescue: async (id, signal) => {
      await host.locks.run(id, signal, () => unrescue(host, id, signal))
      await host.images.purge(await imagesInUse(host.stateDirectory))
    },
  }
}

/** The rescue disk is there before the guest is touched, so an image that cannot be had costs nothing. */
async function rescue(
  host: LibvirtHost,
  id: InstanceId,
  spec: RescueSpec,
  signal: AbortSignal,
): Promise<void> {
  imageFormat(spec.image)
  const device = rescueDevice(spec.image.properties)
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  const files = filesOf(host, id)
  if (await bootsFrom(host, domain, files.rescue.disk, signal))
    return powerOn(host, id, domain, signal)
  const usual = withoutRescue(await getInstanceRecord(host, id))
  if (startsFromVolume(usual)) refuseUnstable(id, spec.image)
  const ran = !(await isOff(host, domain, signal))
  const hasConfigDrive = spec.configDrive !== undefined
  const { sha256: imageSha256 } = spec.image
  const commandLine = spec.image.properties['os_command_line']
  const record = {
    ...usual,
    rescue: { imageSha256, device, hasConfigDrive, ...(commandLine && { commandLine }) },
  }
  await writeInstanceRecord(files, record)
  try {
    await createRescueDisks(host, files, spec, signal)
    await powerOff(host, domain, spec.graceMs, signal)
    await powerOn(host, id, await defineDomain(host, id, record, signal), signal)
  } catch (error) {
    if (isReached(host)) await takeBack(host, id, usual, ran)
    throw error
  }
}

/** Afterwards it is as it was before the rescue; the caller's signal may have ended. */
async function takeBack(
  host: LibvirtHost,
  id: InstanceId,
  usual: InstanceRecord,
  ran: boolean,
): Promise<void> {
  const signal = AbortSignal.timeout(TAKE_BACK_MS)
  try {
    await endRescue(host, id, usual, signal)
    if (ran) await powerOn(host, id, await ownDomain(host, id, signal), signal)
  } catch (error) {
    host.logger?.error({ ...errorFields(error), instance: id }, 'failed rescue left something')
  }
}

async function unrescue(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<void> {
  const domain = await ownDomain(host, id, signal)
  const record = await getInstanceRecord(host, id)
  if (record.rescue === undefined) return powerOn(host, id, domain, signal)
  await endRescue(host, id, withoutRescue(record), signal)
  await powerOn(host, id, await ownDomain(host, id, signal), signal)
}

/** Afterwards no file of a rescue is left. A guest that runs from its own disks is not touched. */
async function endRescue(
  host: LibvirtHost,
  id: InstanceId,
  usual: InstanceRecord,
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, id)
  const domain = await ownDomain(host, id, signal)
  if (await bootsFrom(host, domain, files.rescue.disk, signal)) {
    await cutPower(host, domain, signal)
    await defineDomain(host, id, usual, signal)
  }
  await removeRescueFiles(files)
  await writeInstanceRecord(files, usual)
}

async function createRescueDisks(
  host: LibvirtHost,
  files: InstanceFiles,
  { image, configDrive }: RescueSpec,
  signal: AbortSignal,
): Promise<void> {
  await removeRescueFiles(files)
  const path = await host.images.path(image, signal)
  await createRootDisk(files.rescue.disk, path, { image, flavor: OF_IMAGE_SIZE }, signal)
  await writeStartFiles(host, files.rescue, image, signal)
  if (configDrive !== undefined)
    await writeConfigDrive(files.rescue.configDrive, configDrive, signal)
  await hideFiles(files)
}

async function bootsFrom(
  host: LibvirtHost,
  domain: DomainRef,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  const xml = parseXml(await host.devices.xml(domain, signal))
  const sources = elementsAt(xml, 'domain', 'devices', 'disk', 'source')
  return sources.some((source) => attributeAt(source, 'file') === path)
}

function ownDomain(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<DomainRef> {
  return getOwnDomain(host.domains, host.owner, id, signal)
}
