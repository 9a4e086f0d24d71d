import { cellNames } from '../cells/cell-names.ts'
import type { Session } from '../cloud/session.ts'
import { eventsView } from '../events/event-line.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { fieldsView, listView, type View, viewWithParts } from '../output/view.ts'
import { readServers, serverListing } from '../servers/list-servers.ts'
import { findHost } from './find-host.ts'
import { type Host, hostListing } from './host-listing.ts'
import type { HostOptions } from './list-hosts.ts'

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
