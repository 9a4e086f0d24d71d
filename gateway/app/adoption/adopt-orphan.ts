import type { Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, type ImageId, type InstanceId, isUuid } from '#common/ids.ts'
import type { InstanceRecord, InstanceView } from '#openapi/wire/instance.ts'
import { queueMappings, setCharge } from '../../db/instance-mappings.ts'
import { knownServers } from '../../db/known-servers.ts'
import { idsNamed } from '../../db/named-resources.ts'
import { queueRequestSpecs } from '../../db/request-specs.ts'
import { queueActions } from '../../db/server-actions.ts'
import { findServerGroup } from '../../db/server-groups.ts'
import { queueServers, queueViews } from '../../db/server-index.ts'
import type { OperatedCell } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { idOf } from '../federation/named.ts'
import { reachable } from '../hosts/host-state.ts'
import type { Networks } from '../networks/list-networks.ts'
import { nicSpecs, serverAddresses } from '../networks/nic-views.ts'
import { groupsForBoot } from '../networks/port-groups.ts'
import { type KnownNic, knownNics, NicTaken, restoreNics } from '../networks/restore-nics.ts'
import { chargeQuota } from '../quotas/charge-quota.ts'
import type { RequestContext } from '../request-context.ts'
import { joinServerGroup } from '../server-groups/members.ts'
import type { NewServer } from '../servers/boot/new-server.ts'
import { requestedProperties } from '../servers/boot/requested-properties.ts'
import { noOrphan } from './orphans.ts'

/** A server as its cell reports it, and the records that the gateways still have of the server. */
interface Orphan {
  readonly cellId: CellId
  readonly view: InstanceView
  readonly record: InstanceRecord
  readonly projectId: string
  readonly nics: readonly KnownNic[]
  readonly groups: readonly { readonly id: string; readonly name: string }[]
  readonly hasGroup: boolean
}

/** What an adopted server is without, in words. */
export type Missing = readonly string[]

type AdoptDeps = { readonly compute: Compute; readonly networks: Networks }

/**
 * Afterwards a server of a cell of which nothing was known here is a server again, of the project it was built for or of
 * `project` (its id or name): mapped, shown, charged and with its ports, as it was built and as its cell has it now.
 * Returns what could not be had. Throws `conflict` for one that is known here, or that its cell does not remember,
 * `not-found`, `invalid` where its project is unknown, `over-quota`, `unavailable` while the cell cannot be asked.
 */
export async function adoptOrphan(
  { compute, networks }: AdoptDeps,
  context: RequestContext,
  cell: OperatedCell,
  serverId: string,
  project: string | undefined,
): Promise<Missing> {
  const { db } = compute
  const orphan = await readOrphan({ compute, networks }, context, cell, { serverId, project })
  const missing = [...(await missingOf(compute, orphan))]
  for (let { nics } = orphan; ; )
    try {
      await db.transaction((tx) => record(tx, compute, context, { ...orphan, nics }))
      return missing
    } catch (error) {
      if (isDuplicate(error)) throw known(serverId)
      if (!(error instanceof NicTaken)) throw error
      missing.push(`the NIC of port ${error.portId}: ${error.message}`)
      nics = nics.filter(({ nic }) => nic.portId !== error.portId)
    }
}

function known(serverId: string): Failure {
  return new Failure('conflict', `Server ${serverId} is a project's already.`)
}

async function readOrphan(
  { compute, networks }: AdoptDeps,
  context: RequestContext,
  { id: cellId, reported }: OperatedCell,
  asked: { readonly serverId: string; readonly project: string | undefined },
): Promise<Orphan> {
  const { db, askCell } = compute
  const { serverId } = asked
  const cell = reachable(reported)
  if ((await knownServers(db, [serverId])).has(serverId)) throw known(serverId)
  if (!isUuid(serverId)) throw noOrphan(cell.name, serverId)
  const question = { serverId, withRecord: true }
  const { view, record } = await askCell(cell, 'instance.audit', question, { work: context })
  if (view === null) throw noOrphan(cell.name, serverId)
  if (record === undefined || view.vmState === 'soft-delete')
    throw new Failure(
      'conflict',
      `Server ${serverId} cannot be adopted: ${record === undefined ? 'its cell has no record of its build' : 'it was deleted'}. To end it, run: ./weir cell orphans ${cell.name} --end ${serverId} --yes`,
    )
  const projectId = await projectOf(compute, context, asked.project ?? record.projectId)
  const { group } = record
  const groupThere = group === undefined ? undefined : await findServerGroup(db, group.id)
  const nics = await knownNics(db, record.nics)
  const groups = await groupsForBoot(networks, projectId, [], nics.length > 0)
  const hasGroup = groupThere?.projectId === projectId
  return { cellId: cellId as CellId, view, record, projectId, nics, groups, hasGroup }
}

/** A Keystone elsewhere alone knows projects. */
async function projectOf(
  { db }: Compute,
  { isExternal }: RequestContext,
  project: string,
): Promise<string> {
  if (isExternal) return project
  try {
    return await idOf(db, 'project', project)
  } catch (cause) {
    throw new Failure(
      'invalid',
      `Project ${project} of the orphan does not exist. Name an existing project as its owner.`,
      {
        cause,
      },
    )
  }
}

async function missingOf(
  { db }: Compute,
  { record, nics, hasGroup, view }: Orphan,
): Promise<Missing> {
  const { flavor, image, group } = record
  const imageId = view.imageId ?? image.id
  const isThere = async (what: 'flavor' | 'image', id: string) =>
    (await idsNamed(db, what, id, 1)).length > 0
  const lostNics = record.nics.filter(({ portId }) =>
    nics.every(({ nic }) => nic.portId !== portId),
  )
  return [
    'what was changed of its name, metadata, tags, locks, user data and NICs after it was built',
    ...(nics.length > 0 ? ['its security groups: its ports are in the default one'] : []),
    ...lostNics.map((nic) => `the NIC of port ${nic.portId}: its network or subnet is not there`),
    ...((await isThere('flavor', (view.flavor ?? flavor).id)) ? [] : ['its flavor, but its size']),
    ...((await isThere('image', imageId)) ? [] : [`its image ${imageId}: rebuild it from another`]),
    ...(group !== undefined && !hasGroup ? [`its server group ${group.id}`] : []),
  ]
}

async function record(
  tx: Tx,
  { clock, network }: Compute,
  { requestId }: RequestContext,
  orphan: Orphan,
): Promise<void> {
  const { cellId, view, projectId, groups, hasGroup, nics } = orphan
  const { group, ...spec } = { ...orphan.record, projectId }
  const { userId } = spec
  const id = view.serverId as InstanceId
  const flavor = view.flavor ?? spec.flavor
  const { cores, ramMb } = chargeOf(orphan)
  const { attempt } = view
  queueMappings(tx, [{ serverId: id, projectId, cores, ramMb, cellId, attempt, sagaId: null }])
  const securityGroupIds = groups.map((each) => each.id)
  const zone = spec.zone ?? ''
  const now = new Date(clock.now())
  const owner = { serverId: id, projectId, zone, securityGroupIds, now }
  const restored = await restoreNics(tx, owner, nics)
  const securityGroups = groups.map(({ name }) => name)
  const shown = { ...newServer(orphan), id, flavor, securityGroups }
  const requested = requestedProperties(spec, {})
  queueServers(tx, [{ ...shown, requested, addresses: serverAddresses(restored) }])
  const kept = { ...spec, nics: [...nicSpecs(restored)], ...(hasGroup && group && { group }) }
  const noSecrets = { sealedUserData: null, sealedFiles: null, sealedPassword: null }
  queueRequestSpecs(tx, [{ serverId: id, spec: kept, ...noSecrets }])
  if (view.vmState === 'resized') await setCharge(tx, id, { cores, ramMb, isResizing: true })
  if (hasGroup && group !== undefined)
    await joinServerGroup(tx, {
      ...{ groupId: group.id, userId, requestId },
      servers: [{ id, cellId }],
    })
  const action = { action: 'create', message: null, requestId }
  queueActions(tx, [{ serverId: id, projectId, userId, ...action }])
  queueViews(tx, cellId, [view])
  await network.bind(tx, cellId, [view])
  await chargeQuota(tx, { projectId, userId }, { instances: 1, cores, ram: ramMb })
}

/** For both sizes while it is in a resize, of which its cell knows the one it has and the one it was built with. */
function chargeOf({ view, record: { flavor: built } }: Orphan) {
  const has = view.flavor ?? built
  const other = view.vmState === 'resized' ? built : has
  return {
    cores: Math.max(has.vcpus, other.vcpus),
    ramMb: Math.max(has.memoryMb, other.memoryMb),
  }
}

/** The server as it was built; the current state that its cell reports is applied over it. */
function newServer({
  cellId,
  view,
  record: built,
  projectId,
}: Orphan): Omit<NewServer, 'addresses' | 'requested' | 'id' | 'flavor' | 'securityGroups'> {
  const { userId, name, hostname, metadata, keypair, configDrive, zone, remarks } = built
  const { reservationId, launchIndex } = built
  return {
    projectId,
    userId,
    cellId,
    attempt: view.attempt,
    name,
    hostname,
    description: remarks?.description ?? null,
    metadata,
    tags: remarks?.tags ?? [],
    imageId: (view.imageId ?? built.image.id) as ImageId,
    keyName: keypair?.name ?? null,
    configDrive,
    reservationId,
    launchIndex,
    diskConfig: remarks?.diskConfig ?? 'MANUAL',
    requestedZone: zone,
    accessIPv4: remarks?.accessIPv4 ?? null,
    accessIPv6: remarks?.accessIPv6 ?? null,
    vmState: 'building',
    taskState: 'spawning',
    fault: null,
  }
}
