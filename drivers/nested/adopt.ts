import { randomUUID } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import { type InstanceId, isUuid } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { Adopt, UnmanagedGuest } from '../adopt.ts'
import type { InstanceSpec } from '../driver.ts'
import { type CloudServer, isBusy, powerStateOf, showServer } from './compute/cloud-server.ts'
import type { NestedHost } from './host.ts'
import { isMarked, markerKey, markerValue } from './names.ts'
import { refuseSpec } from './refuse-spec.ts'

/** Servers of the project below that carry no mark; one that is taken in gets ours, and keeps all else. */
export function nestedAdopt(host: NestedHost): Adopt {
  return {
    async unmanagedGuests(signal) {
      await host.view.refresh(signal)
      return host.view.unmanagedGuests().flatMap(unmanagedGuestOf)
    },
    async adopt(spec, signal) {
      refuseSpec(host, spec)
      return host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        adopt(host, spec, lockSignal),
      )
    },
  }
}

function unmanagedGuestOf(server: CloudServer): readonly UnmanagedGuest[] {
  const { id, name, flavor, metadata, tags } = server
  if (!isUuid(id) || isBusy(server)) return []
  return [
    {
      id: id as InstanceId,
      name,
      powerState: powerStateOf(server),
      vcpus: flavor.vcpus ?? null,
      memoryMb: flavor.ram ?? null,
      rootGb: flavor.disk ?? null,
      metadata,
      ...(tags === undefined ? {} : { tags }),
    },
  ]
}

/** The mark makes it ours, and is one request; the record follows, and could be made again from the mark. */
async function adopt(
  host: NestedHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<PowerState> {
  const { cloud, owner, records, view } = host
  const server = await showServer(cloud, spec.id, signal)
  if (server === undefined)
    throw new Failure('not-found', 'The server no longer exists in the nested cloud.')
  const ours = markerValue(owner, spec.id)
  if (server.metadata[markerKey(owner)] !== ours) {
    if (isMarked(server.metadata))
      throw new Failure('conflict', 'The server in the nested cloud belongs to another owner.')
    const body = { metadata: { [markerKey(owner)]: ours } }
    await cloud.call('compute', 'POST', `/servers/${spec.id}/metadata`, { body, signal })
  }
  await records.write(spec.id, {
    version: 1,
    projectId: spec.projectId,
    key: randomUUID(),
    sentAt: null,
    serverId: spec.id,
    hasRun: true,
    isAdopted: true,
    portIds: [],
    networkIds: [],
    groupIds: [],
    keypair: null,
  })
  await view.refresh(signal)
  return powerStateOf(server)
}
