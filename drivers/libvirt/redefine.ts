import { stat } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceSpec } from '../driver.ts'
import { domainXml, type VirtType } from './domains/domain-xml.ts'
import { guestOptions } from './domains/guest-options.ts'
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
import { powerOn } from './power.ts'
import type { DomainRef } from './rpc/domain-ref.ts'
import { attributeAt, elementsAt, parseXml, textAt } from './xml/parse.ts'

/**
 * Afterwards the domain, which is off, is what the spec says, and runs if it shall. Its interfaces are those the host
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
  { domain, nics, rescue }: InstanceRecord,
  signal: AbortSignal,
): Promise<DomainRef> {
  const files = filesOf(host, id)
  const ownDrive = rescue?.hasConfigDrive === true ? files.rescue.configDrive : files.configDrive
  const configDrive = (await isThere(ownDrive)) ? ownDrive : undefined
  const { owner } = host
  const virtType = await host.virtType(signal)
  const options = guestOptions(domain)
  if (options.firmware === 'efi') await refuseWithoutUefi(host, virtType, signal)
  const plan = { id, subject: domain, options, nics, owner, files, virtType }
  const xml = domainXml({ ...plan, configDrive, rescue: rescue?.device })
  return host.domains.define(xml, signal)
}

async function refuseWithoutUefi(
  host: LibvirtHost,
  virtType: VirtType,
  signal: AbortSignal,
): Promise<void> {
  const xml = parseXml(await nodeCalls(host.session).domainCapabilities(virtType, signal))
  const choices = elementsAt(xml, 'domainCapabilities', 'os', 'enum')
    .filter((choice) => attributeAt(choice, 'name') === 'firmware')
    .flatMap((choice) => elementsAt(choice, 'value').map((value) => textAt(value)))
  if (!choices.includes('efi'))
    throw new Failure('invalid', 'This host has no UEFI firmware for guests (package ovmf).')
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
      'This server was taken in as it is: its disks and devices are not changed here.',
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
