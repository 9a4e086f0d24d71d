import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId, NetworkId } from '#common/ids.ts'
import type { Interfaces, NicSpec } from '../driver.ts'
import { isUsedByOthers } from './destroy.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { filesOf, isReached, type LibvirtHost } from './host.ts'
import { type InstanceRecord, writeInstanceRecord } from './instance-record.ts'
import { isOff } from './power.ts'
import { getInstanceRecord } from './redefine.ts'
import type { DomainRef } from './rpc/refs.ts'
import { renderXml } from './xml/element.ts'
import { attributeAt, elementsAt, parseXml } from './xml/parse.ts'

/** A guest releases a NIC when its kernel handles the request; a guest that still boots does not. */
const LET_GO_MS = 20_000
const ASK_AGAIN_MS = 5_000
const POLL_MS = 200

/** The record is ahead of the domain: so a start, and a removal, know every NIC there may be. */
export function libvirtInterfaces(host: LibvirtHost): Interfaces {
  return {
    attach: (id, nic, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const record = await getInstanceRecord(host, id)
        await rewrite(host, id, record, [...without(record.nics, nic), nic])
        await host.networks.plug(nic, signal)
        try {
          if (await hasNic(host, domain, nic, signal)) return
          const mode = { isLive: !(await isOff(host, domain, signal)) }
          await host.devices.attach(domain, nicXml(host, nic), mode, signal)
        } catch (error) {
          if (isReached(host)) await unplug(host, id, record, nic)
          throw error
        }
      }),
    detach: (id, nic, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        await takeFromDomain(host, domain, nic, signal)
        await unplug(host, id, await getInstanceRecord(host, id), nic)
      }),
  }
}

async function takeFromDomain(
  host: LibvirtHost,
  domain: DomainRef,
  nic: NicSpec,
  signal: AbortSignal,
): Promise<void> {
  const xml = nicXml(host, nic)
  await host.devices.detach(domain, xml, 'definition', signal).catch((error: unknown) => {
    if (!isFailure(error, 'not-found')) throw error
  })
  const deadline = performance.now() + LET_GO_MS
  let askAt = 0
  while (await hasNic(host, domain, nic, signal)) {
    if (performance.now() > deadline)
      throw new Failure('conflict', `The guest does not release NIC ${nic.macAddress}.`)
    if (performance.now() >= askAt) {
      await host.devices.detach(domain, xml, 'guest', signal).catch((error: unknown) => {
        // `conflict`: it was asked already, or went off.
        if (!isFailure(error, 'not-found', 'conflict')) throw error
      })
      askAt = performance.now() + ASK_AGAIN_MS
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** Afterwards neither record nor network know the NIC. A signal that has ended must not keep it half there. */
async function unplug(
  host: LibvirtHost,
  id: InstanceId,
  record: InstanceRecord,
  nic: NicSpec,
): Promise<void> {
  await rewrite(host, id, record, without(record.nics, nic))
  const isUsed = (network: NetworkId) => isUsedByOthers(host, network)
  await host.networks.unplug(nic, isUsed, AbortSignal.timeout(LET_GO_MS))
}

function nicXml(host: LibvirtHost, nic: NicSpec): string {
  return renderXml(host.networks.interfaceOf(nic))
}

async function hasNic(
  host: LibvirtHost,
  domain: DomainRef,
  { macAddress }: NicSpec,
  signal: AbortSignal,
): Promise<boolean> {
  const xml = parseXml(await host.devices.xml(domain, signal))
  const macs = elementsAt(xml, 'domain', 'devices', 'interface').map((nic) =>
    attributeAt(nic, 'address', 'mac').toLowerCase(),
  )
  return macs.includes(macAddress.toLowerCase())
}

async function rewrite(
  host: LibvirtHost,
  id: InstanceId,
  record: InstanceRecord,
  nics: readonly NicSpec[],
): Promise<void> {
  await writeInstanceRecord(filesOf(host, id), { ...record, nics })
}

function without(nics: readonly NicSpec[], { portId }: NicSpec): readonly NicSpec[] {
  return nics.filter((nic) => nic.portId !== portId)
}
