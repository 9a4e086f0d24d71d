import { eventsView } from '../events/event-line.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import { hostListing } from '../hosts/host-listing.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, listView, viewWithParts } from '../output/view.ts'
import { cellListing } from './cell-listing.ts'

const EVENTS = 10

/** Shows a cell with its hosts, and the newest events of the cell and its hosts. */
export async function showCell(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { federation } = session
    const cell = await federation.ask('get', '/v1/cells/{cell}', { path: { cell: wanted } })
    const about = (type: 'cell' | 'host') =>
      federation.ask('get', '/v1/events', { query: { cell: cell.id, type, limit: EVENTS } })
    const [hosts, ofCell, ofHosts] = await Promise.all([
      allHosts(session, cell.id),
      about('cell'),
      about('host'),
    ])
    const events = [...ofCell.events, ...ofHosts.events]
      .toSorted((a, b) => Number(a.id) - Number(b.id))
      .slice(-EVENTS)
    const names = new Map([[cell.id, cell.name]])
    const parts = [
      { heading: 'HOSTS', view: listView(hosts, hostListing(names, Date.now())) },
      { heading: 'RECENT EVENTS', view: eventsView(events) },
    ]
    const view = fieldsView(cell, cellListing(Date.now()))
    return viewWithParts(view, parts, { ...cell, hosts, recent_events: events })
  })
}
