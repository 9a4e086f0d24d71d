import { stat } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceSpec } from '../driver.ts'
import { startOf } from './disks/start-files.ts'
import { domainXml, type VirtType } from './domains/domain-xml.ts'
import { type GuestOptions, guestOptions } from './domains/guest-options.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import {
  domainSubject,
  type InstanceRecord,
  readInstanceRecord,
  removeRescueFiles,
  withoutRescue,
  writeInstanceRecord,
} from './instance-record.ts'
import { nodeCalls } from './node-calls.ts'
import { cpuElement, refuseUnknownModel } from './placement/cpu-settings.ts'
import { placeOnHost } from './placement/place-on-host.ts'
import { seenElements } from './placement/placement-elements.ts'
import { powerOn } from './power.ts'
import type { DomainRef } from './rpc/refs.ts'
import { attributeAt, elementsAt, parseXml, textAt } from './xml/parse.ts'

/**
 * Afterwards the domain, which is off, is what the spec says, and runs if it is to. Its interfaces are those the host
 * has plugged; it has a config drive if there is one; a rescue is over. The caller holds the instance's lock.
 */
export async function redefine(
  host: LibvirtHost,
  spec: InstanceSpec,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, spec.id)
  const usual = withoutRescue(await getInstanceRecord(host, spec.id))
  const record = { ...usual, domain: domainSubject(spec) }
  await writeInstanceRecord(files, record)
  await removeRescueFiles(files)
  const domain = await defineDomain(host, spec.id, record, signal)
  if (runs) await powerOn(host, spec.id, domain, signal)
}

/** Afterwards the domain, which is off, is what the record and the files say. */
export async function defineDomain(
  host: LibvirtHost,
  id: InstanceId,
  record: InstanceRecord,
  signal: AbortSignal,
): Promise<DomainRef> {
  const { domain, nics, rescue, volumes } = record
  const files = filesOf(host, id)
  const ownDrive = rescue?.hasConfigDrive === true ? files.rescue.configDrive : files.configDrive
  const configDrive = (await isThere(ownDrive)) ? ownDrive : undefined
  const { owner } = host
  const virtType = await host.virtType(signal)
  const options = guestOptions(domain)
  await refuseWhatIsNotThere(host, options, virtType, signal)
  const { asked, placement, sharedCpus } = await placeOnHost(host, id, record, signal)
  const cpu = cpuElement(host.cpus.model, virtType, seenElements(asked.topology, placement))
  const interfaces = nics.map((nic) => host.networks.interfaceOf(nic))
  const guest = { id, subject: domain, options, interfaces, owner, files, virtType }
  const defaultLine = domain.imageProperties['os_command_line']
  const start = await (rescue === undefined
    ? startOf(files, defaultLine)
    : startOf(files.rescue, rescue.commandLine))
  const plan = { ...guest, cpu, placement, sharedCpus, start }
  const xml = domainXml({ ...plan, configDrive, volumes, rescue: rescue?.device })
  return host.domains.define(xml, signal)
}

/** Asks the hypervisor, and only for features that not every hypervisor has. */
async function refuseWhatIsNotThere(
  host: LibvirtHost,
  { firmware }: GuestOptions,
  virtType: VirtType,
  signal: AbortSignal,
): Promise<void> {
  const { model } = host.cpus
  if (firmware === 'bios' && model === undefined) return
  const capabilities = await nodeCalls(host.session).domainCapabilities(virtType, signal)
  if (model !== undefined) refuseUnknownModel(model, capabilities)
  if (firmware === 'efi' && !firmwares(capabilities).includes('efi'))
    throw new Failure('invalid', 'This host has no UEFI firmware for guests (package ovmf).')
}

function firmwares(capabilities: string): readonly string[] {
  return elementsAt(parseXml(capabilities), 'domainCapabilities', 'os', 'enum')
    .filter((choice) => attributeAt(choice, 'name') === 'firmware')
    .flatMap((choice) => elementsAt(choice, 'value').map((value) => textAt(value)))
}

/** The record of an instance that was built here; throws `not-found` otherwise, `unsupported` for one that was taken in. */
export async function getInstanceRecord(
  host: LibvirtHost,
  id: InstanceId,
): Promise<InstanceRecord> {
  const record = await readInstanceRecord(filesOf(host, id))
  if (record?.isAdopted === true)
    throw new Failure(
      'unsupported',
      'This server was adopted: its disks and devices cannot be changed.',
    )
  if (record !== undefined) return record
  throw new Failure('not-found', `Instance ${id} could not be found on this host.`)
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
