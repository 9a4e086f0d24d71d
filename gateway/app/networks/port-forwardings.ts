import type { Tx } from '#common/db/database.ts'
import { isUuid, newId } from '#common/ids.ts'
import type { FloatingIp } from '../../db/floating-ips.ts'
import {
  deletePortForwardingRow,
  type ForwardedProtocol,
  findPortForwarding,
  forwardingsBeside,
  insertPortForwarding,
  listPortForwardings as listRows,
  type PortForwarding,
  type PortRange,
  raiseRevision,
  updatePortForwarding as writeRow,
} from '../../db/port-forwardings.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { requireNetworkEngine } from './engine.ts'
import { alreadyAssociated } from './floating-ip-association.ts'
import { ownFloatingIp } from './floating-ips.ts'
import { destinationOf } from './forwarding-destination.ts'
import type { Networks } from './list-networks.ts'
import { type FilterKinds, type Listed, type ListQuery, listed, pageOf } from './list-query.ts'
import { badRequest, NetworkFailure } from './network-failure.ts'

/** What requests say of a forwarding. Of a port and a range of ports, the range counts. */
export interface PortForwardingFields {
  readonly internal_port_id?: string
  readonly internal_ip_address?: string
  readonly internal_port?: number | null
  readonly internal_port_range?: string | null
  readonly external_port?: number | null
  readonly external_port_range?: string | null
  readonly protocol?: ForwardedProtocol
  readonly description?: string
}

const FILTERS: FilterKinds = {
  id: 'text',
  description: 'text',
  internal_port_id: 'text',
  external_port: 'integer',
  protocol: 'text',
}
/** OVN has an entry for each of them. */
const PORTS_MAX = 1_000

/** A page of the forwardings of the requester's floating IP. */
export async function listPortForwardings(
  networks: Networks,
  requester: Requester,
  floatingIpId: string,
  query: ListQuery,
): Promise<Listed<PortForwarding>> {
  await ownFloatingIp(networks, requester, floatingIpId)
  const page = pageOf(query, FILTERS)
  return listed(await listRows(networks.db, floatingIpId, page), page)
}

/** The forwarding of the requester's floating IP; else `not-found`. */
export async function ownPortForwarding(
  networks: Networks,
  requester: Requester,
  floatingIpId: string,
  id: string,
): Promise<PortForwarding> {
  await ownFloatingIp(networks, requester, floatingIpId)
  const found = isUuid(id) ? await findPortForwarding(networks.db, id) : undefined
  if (found?.floatingIpId === floatingIpId) return found
  throw notFound(id)
}

/**
 * Afterwards these ports of the floating IP lead to the server's. Throws, in Neutron's words, `invalid` for ports that are
 * forwarded already and for a port that no router connects, `conflict` for a floating IP or a port that is associated and
 * for a server that the floating IP cannot lead to, `unsupported` without a cell that has OVN.
 */
export async function createPortForwarding(
  networks: Networks,
  requester: Requester,
  floatingIpId: string,
  fields: PortForwardingFields,
): Promise<PortForwarding> {
  await ownFloatingIp(networks, requester, floatingIpId)
  await requireNetworkEngine(networks.db, 'A port forwarding')
  const id = newId<string>()
  return retryStale(networks.clock, () =>
    write(networks, requester, floatingIpId, async (tx, ip) => {
      const made = { ...(await planned(tx, requester, ip, fields)), id }
      await insertPortForwarding(tx, made)
      return made
    }),
  )
}

/** Afterwards the forwarding is as asked for. Throws as `createPortForwarding` does. */
export function updatePortForwarding(
  networks: Networks,
  requester: Requester,
  floatingIpId: string,
  id: string,
  fields: PortForwardingFields,
): Promise<PortForwarding> {
  return retryStale(networks.clock, async () => {
    const before = await ownPortForwarding(networks, requester, floatingIpId, id)
    return write(networks, requester, floatingIpId, async (tx, ip) => {
      const after = { ...(await planned(tx, requester, ip, fields, before)), id }
      await writeRow(tx, after)
      return after
    })
  })
}

/** Afterwards the ports are not forwarded. */
export function deletePortForwarding(
  networks: Networks,
  requester: Requester,
  floatingIpId: string,
  id: string,
): Promise<void> {
  return retryStale(networks.clock, async () => {
    await ownPortForwarding(networks, requester, floatingIpId, id)
    await write(networks, requester, floatingIpId, async (tx) => {
      if (!(await deletePortForwardingRow(tx, id))) throw notFound(id)
    })
  })
}

/** Changes forwardings of a floating IP, whose revision grows: so it is associated with no port meanwhile. */
async function write<T>(
  networks: Networks,
  requester: Requester,
  floatingIpId: string,
  work: (tx: Tx, ip: FloatingIp) => Promise<T>,
): Promise<T> {
  const ip = await ownFloatingIp(networks, requester, floatingIpId)
  return networks.db.transaction(async (tx) => {
    await raiseRevision(tx, ip, new Date(networks.clock.now()))
    return work(tx, ip)
  })
}

/** What a request makes of a forwarding, or of none. The server's port stays until the transaction ends. */
async function planned(
  tx: Tx,
  requester: Requester,
  ip: FloatingIp,
  fields: PortForwardingFields,
  before?: PortForwarding,
): Promise<Omit<PortForwarding, 'id'>> {
  const portId = fields.internal_port_id ?? before?.portId ?? ''
  const address =
    fields.internal_ip_address ?? (portId === before?.portId ? before.address : undefined)
  const external = rangeOf('external', fields) ?? before?.external
  const internal = rangeOf('internal', fields) ?? before?.internal
  if (external === undefined || internal === undefined)
    throw badRequest(
      'port_forwarding',
      'Both internal_port or internal_port_range, and external_port or external_port_range are needed',
    )
  refuseUnequal(internal, external)
  if (ip.fixedPortId !== null)
    throw alreadyAssociated({ ...ip, fixedPortId: portId, fixedAddress: address ?? null })
  const others = ip.forwardings.filter(({ id }) => id !== before?.id)
  const destination = await destinationOf(tx, requester, { ip, others, portId, address })
  const wanted = {
    floatingIpId: ip.id,
    ...destination,
    description: fields.description ?? before?.description ?? '',
    protocol: fields.protocol ?? before?.protocol ?? 'tcp',
    ...{ external, internal },
  }
  await refuseCollisions(tx, wanted, before?.id)
  return wanted
}

function rangeOf(side: 'internal' | 'external', fields: PortForwardingFields) {
  const range = fields[`${side}_port_range`] ?? fields[`${side}_port`]
  if (range === undefined || range === null) return undefined
  const [first = 0, last = first] = String(range).split(':').map(Number)
  if (first < 1 || last > 65_535 || first > last)
    throw badRequest(
      'port_forwarding',
      `Invalid port value ${range} of ${side}_port_range, the port value must be a value between 1 and 65535`,
    )
  if (last - first >= PORTS_MAX)
    throw badRequest(
      'port_forwarding',
      `${side}_port_range ${range} has more than ${PORTS_MAX} ports. Make several port forwardings of smaller ranges`,
    )
  return { first, last }
}

function refuseUnequal(internal: PortRange, external: PortRange): void {
  const [inside, outside] = [internal, external].map(({ first, last }) => last - first)
  if (inside === 0 || inside === outside) return
  throw badRequest(
    'port_forwarding',
    'Invalid ranges of internal and/or external ports. The relation between internal and external ports must be N-N or 1-N',
  )
}

async function refuseCollisions(
  tx: Tx,
  wanted: Omit<PortForwarding, 'id'>,
  ownId: string | undefined,
): Promise<void> {
  const all = await forwardingsBeside(tx, wanted)
  const beside = all.filter(({ id, protocol }) => id !== ownId && protocol === wanted.protocol)
  for (const other of beside) {
    if (other.floatingIpId === wanted.floatingIpId && meet(other.external, wanted.external))
      throw collision('external', other.external, wanted.external)
    const isSame = other.portId === wanted.portId && other.address === wanted.address
    if (isSame && meet(other.internal, wanted.internal))
      throw collision('internal', other.internal, wanted.internal)
  }
}

function meet(a: PortRange, b: PortRange): boolean {
  return Math.max(a.first, b.first) <= Math.min(a.last, b.last)
}

function collision(side: 'internal' | 'external', existing: PortRange, wanted: PortRange) {
  return badRequest(
    'port_forwarding',
    `There is a port collision with the ${side}_port_range. The following ranges collide: ${rangeText(existing)} and ${rangeText(wanted)}`,
  )
}

/** As the API writes it: both ends, also of one port. */
function rangeText({ first, last }: PortRange): string {
  return `${first}:${last}`
}

function notFound(id: string): NetworkFailure {
  return new NetworkFailure(
    'not-found',
    'PortForwardingNotFound',
    `Port Forwarding ${id} could not be found.`,
  )
}
