import { Failure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import { cellNames } from '../cells/cell-names.ts'
import { warnOfUnreachable } from '../cells/warn-of-unreachable.ts'
import { openSession, type Session } from '../cloud/session.ts'
import { eventsView } from '../events/event-line.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing, listView, type View, viewWithParts } from '../output/view.ts'
import { readServers, serverListing } from '../servers/list-servers.ts'
import { allHosts } from './all-hosts.ts'
import { findHost } from './find-host.ts'
import { type Host, hostListing } from './host-listing.ts'

export interface HostOptions extends ViewOptions {
  readonly cell?: string
}

export async function listHosts(operator: Operator, options: HostOptions): Promise<void> {
  await present(operator, options, async (session) => {
    const [{ cells }, hosts] = await Promise.all([
      session.federation.ask('get', '/v1/cells'),
      allHosts(session, options.cell),
    ])
    const { cell: wanted } = options
    const concerned = cells.filter(
      ({ id, name }) => wanted === undefined || wanted === id || wanted === name,
    )
    warnOfUnreachable(operator, concerned)
    return listView(hosts, hostListing(cellNames(cells), Date.now()))
  })
}

const SERVERS_MAX = 1_000
const EVENTS = 10

/** Shows a host with its servers and its newest events. */
export async function showHost(
  operator: Operator,
  name: string,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const host = await findHost(session, name, options.cell)
    const of = { cell: host.cell_id, host: host.name }
    const [view, servers, { events }] = await Promise.all([
      hostView(session, host),
      readServers(session, of, SERVERS_MAX),
      session.federation.ask('get', '/v1/events', { query: { ...of, limit: EVENTS } }),
    ])
    const parts = [
      { heading: 'SERVERS', view: listView(servers, serverListing(Date.now())) },
      { heading: 'RECENT EVENTS', view: eventsView(events) },
    ]
    return viewWithParts(view, parts, { ...host, servers_on_host: servers, recent_events: events })
  })
}

/** One host, with the name of its cell. */
export async function hostView({ federation }: Session, host: Host): Promise<View> {
  const { cells } = await federation.ask('get', '/v1/cells')
  return fieldsView(host, hostListing(cellNames(cells), Date.now()))
}

/** A change of a host's cordon. */
export interface Cordon {
  readonly is_cordoned: boolean
  readonly cordon_reason?: string
}

/** Afterwards it is decided so, and the host is shown. */
export async function cordonHost(
  operator: Operator,
  name: string,
  cordon: Cordon,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { id: host } = await findHost(session, name, options.cell)
    const changed = await session.federation.ask('patch', '/v1/hosts/{host}', {
      path: { host },
      body: cordon,
    })
    return hostView(session, changed)
  })
}

/** Afterwards the bus refuses every credential of the host. Throws `invalid` without `--yes`. */
export async function shutOutHost(
  operator: Operator,
  name: string,
  options: HostOptions & { readonly yes?: true },
): Promise<void> {
  const session = await openSession(operator, options)
  const { id, cell_id: cellId } = await findHost(session, name, options.cell)
  const cell =
    cellNames((await session.federation.ask('get', '/v1/cells')).cells).get(cellId) ?? cellId
  if (options.yes !== true)
    throw new Failure(
      'invalid',
      `Host ${name} of cell ${cell} would be refused by the bus for good, with its present credentials. To do it, add --yes.`,
    )
  await session.federation.ask('delete', '/v1/hosts/{host}/credentials', { path: { host: id } })
  operator.err.write(
    `The bus refuses host ${name}; its guests run on. It can come back: ./weir cell token create ${cell} --host ${name} --renew\n`,
  )
}

const LISTING: Listing<components['schemas']['UnmanagedGuest']> = {
  plural: 'unmanaged guests',
  nameOf: ({ id }) => id,
  columns: [
    { head: 'ID', of: ({ id }) => id },
    { head: 'NAME', of: ({ name }) => name },
    { head: 'POWER', of: ({ power_state }) => power_state },
    { head: 'VCPUS', of: ({ vcpus }) => vcpus },
    { head: 'MIB', of: ({ memory_mb }) => memory_mb },
    { head: 'DISK GB', of: ({ disk_gb }) => disk_gb },
  ],
}

/** Shows the unmanaged guests of a host's backend. */
export async function listUnmanagedGuests(
  operator: Operator,
  name: string,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { id: host } = await findHost(session, name, options.cell)
    const path = { host }
    const { guests } = await session.federation.ask('get', '/v1/hosts/{host}/guests', { path })
    return listView(guests, LISTING)
  })
}
