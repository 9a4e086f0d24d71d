import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import {
  deleteFloatingIpRow,
  type FloatingIp,
  findFloatingIp,
  insertFloatingIp,
  listFloatingIps as readFloatingIps,
  updateFloatingIp as writeFloatingIp,
} from '../../db/floating-ips.ts'
import type { Subnet } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { forwardingsOf } from '../../db/port-forwardings.ts'
import { findPorts } from '../../db/ports.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { addressRequests } from './address-requests.ts'
import { requireRouting } from './engine.ts'
import { alreadyAssociated, associationOf, FREE } from './floating-ip-association.ts'
import type { Networks } from './list-networks.ts'
import {
  DESCRIBED_FILTERS,
  type FilterKinds,
  type Listed,
  type ListQuery,
  listed,
  pageOf,
} from './list-query.ts'
import { showServerNics } from './machine-nics.ts'
import { badRequest, NetworkFailure } from './network-failure.ts'
import { placePort } from './place-port.ts'
import { isServerPort } from './port-device.ts'
import { charge, refund } from './quotas.ts'
import { refuseForwarded } from './refuse-forwarded.ts'
import { removePort } from './release-port.ts'
import { holdRevision } from './revision.ts'
import { FLOATING_IP, NO_PROJECT, servicePort } from './service-ports.ts'
import { isOwner, ownerOf, scopeOf, visibleNetwork } from './visible.ts'

/** The association of a floating IP, as requests write it. */
export interface FloatingIpFields {
  readonly description?: string
  /** Null: of no port. */
  readonly port_id?: string | null
  /** Needed where the port has several addresses of IPv4. */
  readonly fixed_ip_address?: string | null
}

export interface FloatingIpDraft extends FloatingIpFields {
  readonly floating_network_id: string
  readonly floating_ip_address?: string
  readonly subnet_id?: string | null
  readonly project_id?: string
  readonly tenant_id?: string
}

const { name: _name, ...UNNAMED_FILTERS } = DESCRIBED_FILTERS
const FILTERS: FilterKinds = {
  ...UNNAMED_FILTERS,
  status: 'text',
  floating_network_id: 'text',
  floating_ip_address: 'text',
  port_id: 'text',
  fixed_ip_address: 'text',
  router_id: 'text',
}

/** A page of the floating IPs the requester may see. */
export async function listFloatingIps(
  { db }: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<FloatingIp>> {
  const page = pageOf(query, FILTERS)
  return listed(await readFloatingIps(db, scopeOf(requester), page), page)
}

/** The floating IP, if it is the requester's; else `not-found`. */
export async function ownFloatingIp(
  { db }: Pick<Networks, 'db'>,
  requester: Requester,
  id: string,
): Promise<FloatingIp> {
  const found = isUuid(id) ? await findFloatingIp(db, id) : undefined
  if (found === undefined || !isOwner(requester, found)) throw notFound(id)
  return found
}

/**
 * Afterwards all of these floating IPs exist, associated where a port is named, or none. Throws `unsupported` without a cell that has
 * OVN, `conflict` for an address that is taken or when none is left, `over-quota`, and what `associationOf` does.
 */
export async function createFloatingIps(
  networks: Networks,
  requester: Requester,
  drafts: readonly FloatingIpDraft[],
): Promise<readonly FloatingIp[]> {
  const planned: PlannedIp[] = []
  for (const draft of drafts) planned.push(await plannedIp(networks, requester, draft))
  await requireRouting(networks.db, 'A floating IP')
  const ids = await networks.db.transaction(async (tx) => {
    for (const each of planned) await placeFloatingIp(tx, networks, requester, each)
    return planned.map(({ id }) => id)
  })
  return Promise.all(ids.map((id) => ownFloatingIp(networks, requester, id)))
}

interface PlannedIp {
  readonly id: string
  readonly projectId: string
  readonly draft: FloatingIpDraft
  /** Those of the external network that can have the address. */
  readonly subnets: readonly Subnet[]
  readonly requests: ReturnType<typeof addressRequests> | undefined
}

async function plannedIp(
  networks: Networks,
  requester: Requester,
  draft: FloatingIpDraft,
): Promise<PlannedIp> {
  const { floating_ip_address: address, subnet_id: subnetId } = draft
  const projectId = ownerOf(requester, draft.project_id ?? draft.tenant_id)
  if (address !== undefined && !requester.isAdmin)
    throw new Failure('forbidden', 'Only an administrator may choose a floating_ip_address.')
  const network = await visibleNetwork(networks, requester, draft.floating_network_id)
  if (!network.isExternal) throw notExternal(network.id)
  const all = await subnetsOfNetworks(networks.db, [network.id])
  const subnets = all.filter(({ ipVersion }) => ipVersion === 4)
  if (subnets.length === 0)
    throw badRequest('floatingip', `Network ${network.id} does not contain any IPv4 subnet`)
  const wanted = {
    ...(address !== undefined && { ip_address: address }),
    ...(typeof subnetId === 'string' && { subnet_id: subnetId }),
  }
  const administrator = { projectId, isAdmin: true }
  const requests =
    Object.keys(wanted).length === 0
      ? undefined
      : addressRequests(network, subnets, administrator, [wanted])
  return { id: newId(), projectId, draft, subnets, requests }
}

async function placeFloatingIp(
  tx: Tx,
  networks: Networks,
  requester: Requester,
  { id, projectId, draft, subnets, requests }: PlannedIp,
): Promise<void> {
  const { floating_network_id: networkId, description = '' } = draft
  const now = new Date(networks.clock.now())
  const device = { deviceId: id, deviceOwner: FLOATING_IP }
  const blank = servicePort({ now, projectId: NO_PROJECT, ...device })
  const port = await placePort(tx, { ...blank, networkId, subnets, requests })
  const [network] = await findNetworks(tx, [networkId])
  // It may have been changed since it was read; the port keeps it from now on.
  if (network?.isExternal !== true) throw notExternal(networkId)
  const ip: FloatingIp = {
    id,
    projectId,
    description,
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    networkId,
    address: port.fixedIps[0]!.address,
    portId: port.id,
    ...FREE,
    fixedPort: null,
    forwardings: [],
  }
  const associated = { ...ip, ...(await associationOf(tx, requester, ip, draft)) }
  if (!(await insertFloatingIp(tx, associated))) throw alreadyAssociated(associated)
  await charge(tx, projectId, 'floatingip')
  await showServerOf(tx, associated)
}

/**
 * Afterwards the floating IP leads to this port, or to none; without a port in the request it is unchanged. Throws
 * `conflict` for a fixed address that has a floating IP, and like `associationOf`.
 */
export function updateFloatingIp(
  networks: Networks,
  ...asked: [
    requester: Requester,
    id: string,
    fields: FloatingIpFields,
    wantedRevision?: number | undefined,
  ]
): Promise<FloatingIp> {
  return retryStale(networks.clock, () => changeFloatingIp(networks, ...asked))
}

async function changeFloatingIp(
  networks: Networks,
  requester: Requester,
  id: string,
  fields: FloatingIpFields,
  wantedRevision?: number,
): Promise<FloatingIp> {
  const before = await ownFloatingIp(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    const association = await associationOf(tx, requester, before, fields)
    await holdRevision(tx, 'floatingips', id, wantedRevision)
    const description = fields.description ?? before.description
    const after = { ...before, ...association, description }
    if (!(await writeFloatingIp(tx, after, new Date(networks.clock.now()))))
      throw alreadyAssociated(after)
    if (after.fixedPortId !== null) refuseForwarded(before)
    await showServerOf(tx, before)
    if (after.fixedPortId !== before.fixedPortId) await showServerOf(tx, after)
  })
  return ownFloatingIp(networks, requester, id)
}

/** Afterwards the floating IP is gone, and its address free. */
export async function deleteFloatingIp(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const ip = await ownFloatingIp(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    await holdRevision(tx, 'floatingips', id, wantedRevision)
    if (!(await deleteFloatingIpRow(tx, id))) throw notFound(id)
    // Nothing forwards ports of it any more, once its row is locked.
    refuseForwarded({ id, forwardings: await forwardingsOf(tx, [id]) })
    const [port] = await findPorts(tx, [ip.portId])
    if (port !== undefined) await removePort(tx, port)
    refund(tx, ip.projectId, 'floatingip')
    await showServerOf(tx, ip)
  })
}

/** Afterwards the server, if the floating IP leads to one, shows the present addresses of its ports. */
async function showServerOf(tx: Tx, { fixedPortId }: FloatingIp): Promise<void> {
  const [port] = fixedPortId === null ? [] : await findPorts(tx, [fixedPortId])
  if (port !== undefined && isServerPort(port)) await showServerNics(tx, port.deviceId)
}

function notExternal(networkId: string): NetworkFailure {
  return badRequest('floatingip', `Network ${networkId} is not a valid external network`)
}

function notFound(id: string): NetworkFailure {
  return new NetworkFailure(
    'not-found',
    'FloatingIPNotFound',
    `Floating IP ${id} could not be found`,
  )
}
