import type { Tx } from '#common/db/database.ts'
import type { Aggregate } from '../../db/aggregates.ts'
import { type EventType, queueEvents, queueGroupEvent } from '../../db/event-inbox.ts'
import { listAccess } from '../../db/flavor-access.ts'
import { readFlavor } from '../../db/flavors.ts'
import type { Keypair } from '../../db/keypairs.ts'
import type { GroupRecord, ServerGroup } from '../../db/server-groups.ts'

/** Who changes something, and with which request. */
export interface ChangedBy {
  readonly requestId: string
  readonly userId: string
}

/**
 * The events of what servers are made with: operators see them, and Nova's notifications are made of them. Each has what
 * a notification shows of the object at that moment, since the object may be gone when the notification is sent.
 */
interface Change {
  readonly type: EventType
  readonly action: string
  readonly name: string
  readonly resource: Readonly<Record<string, unknown>>
}

function queueChange(tx: Tx, by: ChangedBy, { type, action, name, resource }: Change): void {
  const { requestId, userId } = by
  const details = { requestId, userId, action, message: name, resource }
  queueEvents(tx, [{ type, cellId: null, details }])
}

/** The flavor as the transaction has it, before a delete. */
export async function queueFlavorEvent(
  tx: Tx,
  by: ChangedBy,
  action: 'create' | 'update' | 'delete',
  id: string,
): Promise<void> {
  const flavor = await readFlavor(tx, id)
  if (flavor === undefined) return
  const resource = {
    flavorid: flavor.id,
    name: flavor.name,
    memory_mb: flavor.memoryMb,
    vcpus: flavor.vcpus,
    root_gb: flavor.rootGb,
    ephemeral_gb: flavor.ephemeralGb,
    swap: flavor.swapMb,
    rxtx_factor: flavor.rxtxFactor,
    vcpu_weight: 0,
    disabled: flavor.isDisabled,
    is_public: flavor.isPublic,
    extra_specs: flavor.extraSpecs,
    projects: flavor.isPublic ? [] : await listAccess(tx, id),
    description: flavor.description,
  }
  queueChange(tx, by, { type: 'flavor.changed', action, name: flavor.name, resource })
}

export function queueKeypairEvent(
  tx: Tx,
  by: ChangedBy,
  action: 'create' | 'import' | 'delete',
  { userId, name, fingerprint, publicKey, type }: Keypair,
): void {
  const resource = { user_id: userId, name, fingerprint, public_key: publicKey, type }
  queueChange(tx, by, { type: 'keypair.changed', action, name, resource })
}

export type AggregateChange =
  | 'create'
  | 'delete'
  | 'add_host'
  | 'remove_host'
  | 'update_metadata'
  | 'update_prop'

/** The aggregate as the change leaves it. */
export function queueAggregateEvent(
  tx: Tx,
  by: ChangedBy,
  action: AggregateChange,
  {
    id,
    uuid,
    name,
    hosts,
    metadata,
  }: Pick<Aggregate, 'id' | 'uuid' | 'name' | 'hosts' | 'metadata'>,
): void {
  const resource = { id, uuid, name, hosts: hosts.map((host) => host.name), metadata }
  queueChange(tx, by, { type: 'aggregate.changed', action, name, resource })
}

/** A group that has no members yet, or with those that it had. */
export function queueServerGroupEvent(
  tx: Tx,
  by: ChangedBy,
  action: 'create' | 'delete',
  { members, ...group }: Omit<ServerGroup, 'cellId'>,
): void {
  const { name } = group
  const resource = { ...groupResource(group), members }
  queueChange(tx, by, { type: 'server-group.changed', action, name, resource })
}

/** Servers have joined the group: the event has all members that it has now. */
export function queueMembersEvent(
  tx: Tx,
  { requestId, userId }: ChangedBy,
  group: Omit<GroupRecord, 'cellId'>,
): void {
  const change = { action: 'add_member', message: group.name, resource: groupResource(group) }
  const details = { requestId, userId, ...change }
  queueGroupEvent(tx, group.id, { type: 'server-group.changed', details })
}

function groupResource({
  id,
  name,
  userId,
  projectId,
  policy,
  maxPerHost,
}: Omit<GroupRecord, 'cellId'>) {
  const rules = maxPerHost === null ? {} : { max_server_per_host: String(maxPerHost) }
  const owner = { user_id: userId, project_id: projectId }
  return { uuid: id, name, ...owner, policies: [policy], policy, rules, hosts: null }
}
