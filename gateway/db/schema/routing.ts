import {
  boolean,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  uniqueIndex,
  varchar,
} from 'drizzle-orm/mysql-core'
import { lockVersion, token, uuid } from '#common/db/columns.ts'
import { described, type HostRoute } from './network.ts'

export const routers = mysqlTable(
  'routers',
  {
    id: uuid('id').primaryKey(),
    lockVersion: lockVersion(),
    ...described,
    isUp: boolean('admin_state_up').notNull(),
    /** Whether servers without a floating IP reach the external network by the router's address. */
    hasSnat: boolean('enable_snat').notNull(),
    /** The router's port on the external network, and that network; both null without a gateway. */
    gatewayPortId: uuid('gateway_port_id'),
    gatewayNetworkId: uuid('gateway_network_id'),
    routes: json('routes').$type<readonly HostRoute[]>().notNull(),
  },
  (t) => [
    index('routers_by_project').on(t.projectId, t.id),
    index('routers_by_gateway_network').on(t.gatewayNetworkId),
    uniqueIndex('routers_by_gateway_port').on(t.gatewayPortId),
  ],
)

/** The key makes a subnet be on a router once: by the port whose row is inserted first. */
export const routerInterfaces = mysqlTable(
  'router_interfaces',
  {
    routerId: uuid('router_id').notNull(),
    subnetId: uuid('subnet_id').notNull(),
    portId: uuid('port_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.routerId, t.subnetId] }),
    index('router_interfaces_by_port').on(t.portId),
    index('router_interfaces_by_subnet').on(t.subnetId),
  ],
)

/** The port by which a router leads outside in a cell; that of one cell is the router's own (`gateway_port_id`). */
export const routerGateways = mysqlTable(
  'router_gateways',
  {
    routerId: uuid('router_id').notNull(),
    cellId: uuid('cell_id').notNull(),
    portId: uuid('port_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.routerId, t.cellId] }),
    uniqueIndex('router_gateways_by_port').on(t.portId),
  ],
)

/** What was made for a project that asked for some network; the key makes it be made once. */
export const autoAllocatedTopologies = mysqlTable(
  'auto_allocated_topologies',
  {
    projectId: token('project_id').primaryKey(),
    networkId: uuid('network_id').notNull(),
    routerId: uuid('router_id').notNull(),
  },
  (t) => [uniqueIndex('auto_allocated_topologies_by_network').on(t.networkId)],
)

const { name: _name, ...unnamed } = described

export const floatingIps = mysqlTable(
  'floating_ips',
  {
    id: uuid('id').primaryKey(),
    ...unnamed,
    networkId: uuid('floating_network_id').notNull(),
    address: token('floating_ip_address', 45).notNull(),
    /** On the external network: holds the address. */
    portId: uuid('floating_port_id').notNull(),
    // All three null while it leads to no port.
    fixedPortId: uuid('fixed_port_id'),
    fixedAddress: token('fixed_ip_address', 45),
    routerId: uuid('router_id'),
    /** What the cell of the port's server said last; null: it has said nothing of this association. */
    reportedStatus: token('reported_status', 6).$type<'ACTIVE' | 'DOWN' | 'ERROR'>(),
    /** Why the status is not ACTIVE, for operators. */
    problem: varchar('problem', { length: 1000 }),
  },
  (t) => [
    // An address has one floating IP per external network.
    uniqueIndex('floating_ips_by_fixed_address').on(t.fixedPortId, t.fixedAddress, t.networkId),
    uniqueIndex('floating_ips_by_port').on(t.portId),
    index('floating_ips_by_project').on(t.projectId, t.id),
    index('floating_ips_by_address').on(t.address),
    index('floating_ips_by_router').on(t.routerId),
  ],
)

/**
 * Ports of a floating IP that lead to as many ports of a server, or to one. Its range is not another's: who writes holds the
 * floating IP and the server's port.
 */
export const portForwardings = mysqlTable(
  'port_forwardings',
  {
    id: uuid('id').primaryKey(),
    floatingIpId: uuid('floatingip_id').notNull(),
    /** Through which the floating IP is reached. */
    routerId: uuid('router_id').notNull(),
    description: varchar('description', { length: 255 }).notNull(),
    protocol: token('protocol', 3).$type<'tcp' | 'udp'>().notNull(),
    externalFirst: int('external_port_start').notNull(),
    externalLast: int('external_port_end').notNull(),
    /** The server's. */
    portId: uuid('internal_port_id').notNull(),
    address: token('internal_ip_address', 45).notNull(),
    internalFirst: int('internal_port_start').notNull(),
    internalLast: int('internal_port_end').notNull(),
  },
  (t) => [
    uniqueIndex('port_forwardings_by_floating_ip').on(t.floatingIpId, t.protocol, t.externalFirst),
    uniqueIndex('port_forwardings_by_port').on(t.portId, t.address, t.protocol, t.internalFirst),
    index('port_forwardings_by_router').on(t.routerId),
  ],
)
