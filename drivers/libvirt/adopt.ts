import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { Adopt, UnmanagedGuest } from '../adopt.ts'
import type { InstanceSpec } from '../driver.ts'
import { storageFailure } from '../storage-failure.ts'
import { instanceOfDomain, isOwn } from './domains/own-domains.ts'
import { powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import {
  domainSubject,
  type InstanceRecord,
  removeInstanceFiles,
  writeInstanceRecord,
} from './instance-record.ts'
import { nodeCalls } from './node-calls.ts'
import { ownerMark } from './ownership.ts'
import { boundNodes } from './placement/bound-nodes.ts'
import { hostNodes } from './placement/host-nodes.ts'
import { placementInXml } from './placement/placement-in-xml.ts'
import type { DomainRef } from './rpc/refs.ts'
import { renderXml } from './xml/element.ts'
import { parseXml, textAt } from './xml/parse.ts'

const KIB_PER_MIB = 1_024
const LET_GO_MS = 20_000

/** Domains without a stamp of Weir's; one that is taken in gets ours, and keeps its name, disks and devices. */
export function libvirtAdopt(host: LibvirtHost): Adopt {
  return {
    async unmanagedGuests(signal) {
      const found: UnmanagedGuest[] = []
      for (const domain of await host.domains.list(signal))
        if ((await host.domains.metadata(domain, signal)) === undefined)
          found.push(await unmanagedGuestOf(host, domain, signal))
      return found
    },
    adopt: (spec, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) => adopt(host, spec, lockSignal)),
  }
}

async function unmanagedGuestOf(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<UnmanagedGuest> {
  const xml = parseXml(await host.devices.xml(domain, signal))
  return {
    id: instanceOfDomain(domain),
    name: domain.name,
    powerState: powerStateOf(await host.domains.state(domain, signal)),
    vcpus: Number(textAt(xml, 'domain', 'vcpu')),
    // libvirt always answers in KiB, in whichever unit the size was written.
    memoryMb: Math.ceil(Number(textAt(xml, 'domain', 'memory')) / KIB_PER_MIB),
    rootGb: null,
  }
}

/**
 * The stamp comes last: until then the domain is unmanaged, and the record has no domain. After a failure neither is
 * left.
 */
async function adopt(
  host: LibvirtHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<PowerState> {
  const domain = await findUnmanagedGuest(host, spec.id, signal)
  const powerState = powerStateOf(await host.domains.state(domain, signal))
  if (await isOwn(host.domains, host.owner, domain, signal)) return powerState
  const { nics, image } = spec
  const xml = parseXml(await host.devices.xml(domain, signal))
  const placement = placementInXml(xml)
  const boundTo = boundNodes(xml, hostNodes(await nodeCalls(host.session).capabilities(signal)))
  const record: InstanceRecord = {
    version: 1,
    isAdopted: true,
    domain: domainSubject(spec),
    imageSha256: image.sha256,
    nics,
    ...(Object.keys(placement).length > 0 && { placement }),
    ...(boundTo && { boundTo }),
  }
  try {
    await writeInstanceRecord(filesOf(host, spec.id), record)
    await host.domains.setMetadata(domain, renderXml(ownerMark(host.owner, spec.id)), signal)
  } catch (error) {
    if (!isFailure(error, 'unavailable') || host.session.connected)
      await letGo(host, spec.id, domain)
    throw storageFailure(error)
  }
  return powerState
}

/** The caller's signal may have ended the work, with the stamp on its way, so this has a limit of its own. */
async function letGo(host: LibvirtHost, id: InstanceId, domain: DomainRef): Promise<void> {
  const signal = AbortSignal.timeout(LET_GO_MS)
  try {
    if (await isOwn(host.domains, host.owner, domain, signal))
      await host.domains.setMetadata(domain, null, signal)
    await removeInstanceFiles(filesOf(host, id))
  } catch (cause) {
    throw new Failure(
      'unavailable',
      'The host could not release a guest that it had begun to adopt.',
      {
        cause,
      },
    )
  }
}

/** The domain, if it is unmanaged or this host's. */
async function findUnmanagedGuest(
  { domains, owner }: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<DomainRef> {
  const domain = await domains.find(id, signal)
  if (domain === undefined) throw new Failure('not-found', `There is no domain ${id} on this host.`)
  const isStamped = (await domains.metadata(domain, signal)) !== undefined
  if (!isStamped || (await isOwn(domains, owner, domain, signal))) return domain
  throw new Failure('conflict', `Domain ${domain.name} belongs to another host.`)
}
