import { isFailure } from '#common/errors.ts'
import type { InstanceId, NetworkId } from '#common/ids.ts'
import { findOwnDomain } from './domains/own-domains.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import {
  imagesInUse,
  listInstanceRecords,
  readInstanceRecord,
  removeInstanceFiles,
} from './instance-record.ts'
import { cutPower } from './power.ts'
import { releaseVolumes } from './volumes/admit-volumes.ts'

/** Afterwards nothing of the instance is left. A spawn under way is ended first. */
export async function destroy(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runDestroy(id, signal, () => removeInstance(host, id, signal))
  await host.images.purge(await imagesInUse(host.stateDirectory))
}

/** The same under a lock that the caller holds. The record goes last, so an interrupted removal can be repeated. */
export async function removeInstance(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  await removeFromHost(host, id, signal, () => removeInstanceFiles(filesOf(host, id)))
}

/** Afterwards the instance has no domain and no NIC here; its files are what `last` leaves of them. */
export async function removeFromHost(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
  last?: () => Promise<void>,
): Promise<void> {
  const domain = await findOwnDomain(host.domains, host.owner, id, signal)
  if (domain !== undefined) {
    await cutPower(host, domain, signal)
    await host.domains.undefine(domain, signal).catch((error: unknown) => {
      if (!isFailure(error, 'not-found')) throw error
    })
  }
  const record = await readInstanceRecord(filesOf(host, id))
  const isUsed = (network: NetworkId) => isUsedByOthers(host, network)
  host.leaving.add(id)
  try {
    await releaseVolumes(host, record?.volumes ?? [], signal)
    for (const nic of record?.nics ?? []) await host.networks.unplug(nic, isUsed, signal)
    await last?.()
  } finally {
    host.leaving.delete(id)
  }
}

/**
 * Instances that leave do not count, or the last two to leave at once would each keep the network for the other: not
 * even one that is gone by the time its record has been read.
 */
export async function isUsedByOthers(
  host: Pick<LibvirtHost, 'stateDirectory' | 'leaving'>,
  network: NetworkId,
): Promise<boolean> {
  const leaving = [...host.leaving]
  const records = await listInstanceRecords(host.stateDirectory)
  for (const id of [...leaving, ...host.leaving]) records.delete(id)
  return [...records.values()].some((r) => r.nics.some((nic) => nic.networkId === network))
}
