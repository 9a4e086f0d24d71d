import { randomUUID } from 'node:crypto'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceSpec } from '../driver.ts'
import { startsFromVolume } from '../volumes.ts'
import { type CloudServer, isBusy } from './compute/cloud-server.ts'
import { createServer } from './compute/create-server.ts'
import { findServer, refuseForeign } from './compute/find-server.ts'
import { removeInstance } from './destroy.ts'
import type { NestedHost } from './host.ts'
import { flavorBelow } from './map/match-flavor.ts'
import { powerOn } from './power.ts'
import type { InstanceRecord } from './records.ts'
import { refuseSpec } from './refuse-spec.ts'
import { markVolumesOf, type ServerVolume, volumesForServer } from './volumes/attach.ts'

const CLEAN_UP_MS = 120_000

/**
 * Afterwards the instance runs. Its record is on disk before anything is made below, and its server carries a mark from
 * the moment it exists: a server whose creation was not answered is found and taken, and never made twice.
 */
export async function spawn(
  host: NestedHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  refuseSpec(host, spec)
  await host.locks.runPreemptible(spec.id, signal, async (spawnSignal) => {
    /** Why a volume of the server was refused; undefined: none was. */
    let refusal: unknown
    try {
      const server = await findServer(host, spec.id, spawnSignal)
      const volumes =
        server === undefined
          ? await volumesForServer(host, spec, spawnSignal).catch((error: unknown) => {
              refusal = error
              throw error
            })
          : []
      const serverId = server?.id ?? (await build(host, spec, volumes, spawnSignal))
      await comesUp(host, spec, serverId, spawnSignal)
    } catch (error) {
      if (isFailure(error, 'unavailable')) throw error
      await cleanUp(host, spec.id)
      throw error !== refusal && isFailure(error, 'not-found', 'conflict') && !spawnSignal.aborted
        ? notBuilt(spec.id, error)
        : error
    }
  })
}

/** All objects that the server needs exist before it is requested. */
async function build(
  host: NestedHost,
  spec: InstanceSpec,
  volumes: readonly ServerVolume[],
  signal: AbortSignal,
): Promise<string> {
  const { keypair } = spec.asked
  const record = host.records.get(spec.id)
  // One whose server was removed by somebody else begins again: the cloud would answer its old key with the old server.
  if (record === undefined || record.serverId !== null)
    await host.records.write(spec.id, recordOf(host, spec))
  const [flavorRef, imageRef] = await Promise.all([
    flavorBelow(host, spec.flavor, signal),
    startsFromVolume(spec) ? undefined : host.images.ensure(spec.image, signal),
  ])
  if (keypair !== null) await host.keypairs.ensure(keypair, signal)
  const portIds: string[] = []
  for (const nic of spec.nics) portIds.push(await host.networks.ensurePort(nic, signal))
  return createServer(host, spec, { flavorRef, imageRef, portIds, volumes }, signal)
}

function recordOf({ keypairs }: NestedHost, spec: InstanceSpec): InstanceRecord {
  const { keypair } = spec.asked
  return {
    version: 1,
    projectId: spec.projectId,
    key: randomUUID(),
    sentAt: null,
    serverId: null,
    hasRun: false,
    portIds: spec.nics.map(({ portId }) => portId),
    networkIds: [...new Set(spec.nics.map(({ networkId }) => networkId))],
    groupIds: [],
    keypair: keypair === null ? null : keypairs.nameOf(keypair),
  }
}

async function comesUp(
  host: NestedHost,
  spec: InstanceSpec,
  serverId: string,
  signal: AbortSignal,
): Promise<void> {
  const record = host.records.get(spec.id) ?? recordOf(host, spec)
  if (record.serverId !== serverId) await host.records.write(spec.id, { ...record, serverId })
  const server = await host.view.until(serverId, (seen) => !isBusy(seen), signal)
  if (server === undefined) {
    if ((await findServer(host, spec.id, signal)) !== undefined)
      throw new Failure('unavailable', 'The nested cloud does not list the server yet.')
    throw new Failure('internal', 'The nested cloud has removed the server while it was built.')
  }
  if (!record.hasRun) await refuseForeign(host, spec.id, server)
  if (server.status === 'ERROR') throw inError(server, record.hasRun)
  await markVolumesOf(host, spec, serverId, signal)
  await powerOn(host, server, signal)
  if (!record.hasRun) await host.records.write(spec.id, { ...record, serverId, hasRun: true })
}

/** A server that has run holds data of its user: it is not a failed build. */
function inError({ fault }: CloudServer, hasRun: boolean): Failure {
  const detail = { detail: fault?.message ?? 'no fault is shown' }
  if (hasRun)
    return new Failure('unavailable', 'The nested cloud shows the server in error.', detail)
  return /no valid host/i.test(fault?.message ?? '')
    ? new Failure('no-capacity', 'The nested cloud has no room for the server.', detail)
    : new Failure('internal', 'The nested cloud could not build the server.', detail)
}

/** An object that is missing or in the way during a build becomes a failure that does not speak about the instance. */
function notBuilt(id: InstanceId, cause: unknown): Failure {
  return new Failure('internal', `Instance ${id} could not be built in the nested cloud.`, {
    cause,
  })
}

/** The caller's signal may have ended the spawn, so this one has a limit of its own. */
async function cleanUp(host: NestedHost, id: InstanceId): Promise<void> {
  try {
    await removeInstance(host, id, AbortSignal.timeout(CLEAN_UP_MS))
  } catch (error) {
    host.logger?.error({ ...errorFields(error), instance: id }, 'failed spawn left something')
    throw new Failure('unavailable', 'The host could not undo the build.', {
      cause: error,
    })
  }
}
