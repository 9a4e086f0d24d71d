import { and, eq, type SQLWrapper, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import type { Port } from './network.ts'
import { networks, portSecurityGroups, ports, securityGroups } from './schema/network.ts'

const { placeholder } = sql

const INSERT_PORT = statement(
  builder.insert(ports).values({
    id: placeholder('id'),
    projectId: placeholder('projectId'),
    name: placeholder('name'),
    description: placeholder('description'),
    createdAt: placeholder('createdAt'),
    updatedAt: placeholder('updatedAt'),
    revision: placeholder('revision'),
    networkId: placeholder('networkId'),
    macAddress: placeholder('macAddress'),
    isUp: placeholder('isUp'),
    status: placeholder('status'),
    deviceId: placeholder('deviceId'),
    deviceOwner: placeholder('deviceOwner'),
    nicIndex: placeholder('nicIndex'),
    isBootMade: placeholder('isBootMade'),
    nicTag: placeholder('nicTag'),
    hostName: placeholder('hostName'),
    hasPortSecurity: placeholder('hasPortSecurity'),
    tunnelKey: placeholder('tunnelKey'),
    allowedPairs: sql`${placeholder('allowedPairs')}`,
    dhcpOptions: sql`${placeholder('dhcpOptions')}`,
    dnsName: placeholder('dnsName'),
  }),
)

/** Inserts the port without addresses and groups, unless another has its MAC address, or its key on the network. */
export async function insertPort(
  tx: Tx,
  port: Omit<Port, 'fixedIps' | 'floatingIps' | 'securityGroupIds'>,
): Promise<'inserted' | 'mac-taken' | 'key-taken'> {
  await tx.flush()
  try {
    const allowedPairs = JSON.stringify(port.allowedPairs)
    const dhcpOptions = JSON.stringify(port.dhcpOptions)
    await tx.run(INSERT_PORT, { ...port, allowedPairs, dhcpOptions })
    return 'inserted'
  } catch (error) {
    if (isDuplicate(error, 'ports_by_mac')) return 'mac-taken'
    if (isDuplicate(error, 'ports_by_tunnel_key')) return 'key-taken'
    throw error
  }
}

/** Keeps a row from being deleted until the transaction ends, and has an answer only for the rows that it expects. */
const held = (table: SQLWrapper) =>
  sqlStatement(
    sql`select 1 into @held from ${table} where id = ${placeholder('id')} lock in share mode`,
    { sums: [] },
  )

const HOLD_QUEUED_NETWORK = held(networks)
const INSERT_BOOT_PORT = sqlStatement(sql`
  insert into ports (id, project_id, name, description, created_at, updated_at, revision_number,
    network_id, mac_address, admin_state_up, status, device_id, device_owner, nic_index, boot_made,
    nic_tag, binding_host, port_security_enabled, tunnel_key)
  values (${placeholder('id')}, ${placeholder('projectId')}, '', '', ${placeholder('createdAt')},
    created_at, 1, ${placeholder('networkId')}, ${placeholder('macAddress')}, true, 'DOWN',
    ${placeholder('deviceId')}, ${placeholder('deviceOwner')}, ${placeholder('nicIndex')}, true,
    ${placeholder('nicTag')}, '', ${placeholder('hasPortSecurity')}, ${placeholder('tunnelKey')})`)

/** A port as a boot makes it: the usual values in all other columns. */
export type BootPort = Pick<
  Port,
  | 'id'
  | 'projectId'
  | 'createdAt'
  | 'networkId'
  | 'macAddress'
  | 'deviceId'
  | 'deviceOwner'
  | 'nicIndex'
  | 'nicTag'
  | 'hasPortSecurity'
  | 'tunnelKey'
>

/**
 * Inserts a port that is made with its server, and holds its network, without an answer: the transaction fails with
 * `otherwise` where the network is gone, and with a taken key where the MAC address or the tunnel key is another's.
 */
export function queueBootPort(tx: Tx, port: BootPort, otherwise: () => Error): void {
  tx.queue(HOLD_QUEUED_NETWORK, { id: port.networkId }, { rows: 1, otherwise })
  tx.queue(INSERT_BOOT_PORT, { ...port })
}

const HOLD_GROUP = held(securityGroups)
const BIND_GROUP = statement(
  builder
    .insert(portSecurityGroups)
    .values({ portId: placeholder('portId'), groupId: placeholder('groupId') }),
)

/** Afterwards the port has these groups besides those it had. Fails the transaction with `not-found` for one that went. */
export function queueGroupBindings(tx: Tx, portId: string, groupIds: readonly string[]): void {
  for (const groupId of groupIds) {
    const otherwise = () => new Failure('not-found', `Security group ${groupId} does not exist`)
    tx.queue(HOLD_GROUP, { id: groupId }, { rows: 1, otherwise })
    tx.queue(BIND_GROUP, { portId, groupId })
  }
}

const UNBIND_GROUPS = statement(
  builder.delete(portSecurityGroups).where(eq(portSecurityGroups.portId, placeholder('portId'))),
)

/** Takes every security group off the port. */
export async function unbindGroups(tx: Tx, portId: string): Promise<void> {
  await tx.run(UNBIND_GROUPS, { portId })
}

const UNBIND_GROUP = statement(
  builder
    .delete(portSecurityGroups)
    .where(
      and(
        eq(portSecurityGroups.portId, placeholder('portId')),
        eq(portSecurityGroups.groupId, placeholder('groupId')),
      ),
    ),
)

/** Afterwards the port does not have the group. */
export async function unbindGroup(tx: Tx, portId: string, groupId: string): Promise<void> {
  await tx.run(UNBIND_GROUP, { portId, groupId })
}

const HOLD_NETWORK = sqlStatement(
  // MariaDB has no FOR SHARE.
  sql`select id from networks where id = ${placeholder('networkId')} lock in share mode`,
)

/** Keeps the network and its subnets from being deleted until the transaction ends; false when it is gone. */
export async function holdNetwork(tx: Tx, networkId: string): Promise<boolean> {
  return (await tx.rows(HOLD_NETWORK, { networkId })).length === 1
}

const FIRST_FREE_KEY = sqlStatement(sql`
  select min(t.tunnel_key) + 1 as free_key
  from (select ${placeholder('first')} - 1 as tunnel_key
    union all select tunnel_key from ports where network_id = ${placeholder('networkId')}) t
  where not exists (select 1 from ports p
    where p.network_id = ${placeholder('networkId')} and p.tunnel_key = t.tunnel_key + 1)`)

/** The lowest tunnel key from `first` on that no port of the network has. */
export async function firstFreePortKey(tx: Tx, networkId: string, first: number): Promise<number> {
  const [row] = await tx.rows<{ free_key: number }>(FIRST_FREE_KEY, { networkId, first })
  return Number(row!.free_key)
}
