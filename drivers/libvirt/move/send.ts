import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { CellId, HostId, InstanceId } from '#common/ids.ts'
import { backupCalls } from '../domains/backup-calls.ts'
import { getOwnDomain } from '../domains/own-domains.ts'
import { hasMigrated } from '../domains/power-state.ts'
import type { LibvirtHost } from '../host.ts'
import { instanceFiles } from '../instance-files.ts'
import { isOff } from '../power.ts'
import { getInstanceRecord } from '../redefine.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { parsePeerUri } from '../uri.ts'
import { type AttachedVolume, isVolumeAlias } from '../volumes/volume-device.ts'
import { attributeAt, elementsAt, parseXml } from '../xml/parse.ts'
import { asElsewhere } from './as-elsewhere.ts'
import { type Migration, migrate } from './migrate.ts'
import type { Expected } from './peer-info.ts'

const POLL_MS = 500
const ABORT_MS = 10_000
/** virDomainJobType. */
const JOB_NONE = 0

/**
 * Afterwards the guest runs on the host that expects it. A job that an earlier process began continues by itself, and
 * this function waits for it. The caller holds the instance's lock.
 */
export async function send(
  host: LibvirtHost,
  id: InstanceId,
  expected: Expected,
  signal: AbortSignal,
): Promise<void> {
  const calls = backupCalls(host.session, host.slowSession)
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  while (!(await isOff(host, domain, signal))) {
    const job = await calls.jobState(domain, false, signal)
    if (job === JOB_NONE) break
    await sleep(POLL_MS, undefined, { signal })
  }
  if (hasMigrated(await host.domains.state(domain, signal))) return
  const migration = await migrationTo(host, id, domain, expected, signal)
  const abort = () => void calls.abort(domain, AbortSignal.timeout(ABORT_MS)).catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    // Not given up with the signal: whether the guest has gone over is known when it ends.
    await migrate(host.address, domain, migration)
  } catch (error) {
    signal.throwIfAborted()
    throw await asItIs(host, domain, error)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function migrationTo(
  host: LibvirtHost,
  id: InstanceId,
  domain: DomainRef,
  { uri, cellId, hostId, stateDirectory, volumes = {}, initiators = {} }: Expected,
  signal: AbortSignal,
): Promise<Migration> {
  const { transport, hostname } = parsePeerUri(uri)
  const owner = { cellId: cellId as CellId, hostId: hostId as HostId }
  const record = await getInstanceRecord(host, id)
  const live = await host.devices.migratableXml(domain, signal)
  const moved = namesThere(record.volumes ?? [], { volumes, initiators })
  const xml = asElsewhere(live, { id, record }, host, { owner, stateDirectory, moved })
  const common = {
    uri,
    xml,
    isEncrypted: transport === 'tls',
    ownDisks: ownDisksIn(live),
    hasVolumes: moved.size > 0,
  }
  if (transport !== 'unix') return { ...common, memoryUri: `tcp://${hostname}` }
  const { memory, disks } = instanceFiles(stateDirectory, id).arrival
  return { ...common, memoryUri: `unix://${memory}`, disksUri: `unix://${disks}` }
}

/** The volumes' paths on the other host, and its own names for targets of iSCSI, by those of this one. */
function namesThere(
  volumes: readonly AttachedVolume[],
  there: Required<Pick<Expected, 'volumes' | 'initiators'>>,
): ReadonlyMap<string, string> {
  const pairs = volumes.flatMap(({ path, attachmentId, id, iscsi }) => {
    const other = there.volumes[attachmentId]
    const initiator = there.initiators[attachmentId]
    if (other !== undefined)
      return [
        [path, other] as const,
        ...(iscsi && initiator !== undefined ? [[iscsi.initiator, initiator] as const] : []),
      ]
    throw new Failure('unsupported', `The other host does not have volume ${id} of the guest.`)
  })
  return new Map(pairs)
}

/** The names of the disks whose content goes over: not of volumes, which both hosts reach, nor of what is only read. */
function ownDisksIn(xml: string): readonly string[] {
  return elementsAt(parseXml(xml), 'domain', 'devices', 'disk')
    .filter((disk) => elementsAt(disk, 'readonly').length === 0)
    .filter((disk) => !isVolumeAlias(attributeAt(disk, 'name', 'alias')))
    .flatMap((disk) => attributeAt(disk, 'dev', 'target') ?? [])
}

/** `conflict` says that the move was called off, and nothing else does. */
async function asItIs(host: LibvirtHost, domain: DomainRef, error: unknown): Promise<unknown> {
  if (!isFailure(error) || isFailure(error, 'unavailable')) return error
  const signal = AbortSignal.timeout(ABORT_MS)
  if (isFailure(error, 'conflict') && !(await isOff(host, domain, signal))) return error
  const { detail } = error
  const options = { cause: error, ...(detail !== undefined && { detail }) }
  return new Failure('unsupported', 'The guest could not be sent to the other host.', options)
}
