import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/federation.gen.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import { eventsView } from '../events/event-line.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import { hostListing } from '../hosts/host-listing.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, listView, viewWithParts } from '../output/view.ts'
import { cellListing } from './cell-listing.ts'

/** Shows every cell; the command ends as `partial` where one is unreachable. */
export async function listCells(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { cells } = await federation.ask('get', '/v1/cells')
    if (cells.some(({ is_reachable }) => !is_reachable)) operator.endsAs('partial')
    return listView(cells, cellListing(Date.now()))
  })
}

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

/** What of a cell to decide again. */
export type Change = operations['updateCell']['requestBody']['content']['application/json']

/** Afterwards it is decided so, and the cell is shown. */
export async function updateCell(
  operator: Operator,
  cell: string,
  change: Change,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const changed = await federation.ask('patch', '/v1/cells/{cell}', {
      path: { cell },
      body: change,
    })
    return fieldsView(changed, cellListing(Date.now()))
  })
}

export interface LeaveOptions extends CloudOptions {
  readonly dryRun?: true
  /** The cell is gone and cannot be asked what it has. */
  readonly forget?: true
  readonly yes?: true
}

/**
 * Afterwards the cell is unknown to the gateways, its credentials are worthless, and its processes on this machine
 * have ended. Throws `conflict` while it has servers. A dry run prints the cell that would leave, or throws the same.
 */
export async function leaveCell(
  operator: Operator,
  name: string,
  options: LeaveOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  const path = { cell: name }
  const cell = await federation.ask('get', '/v1/cells/{cell}', { path })
  const { hosts = 0, servers = 0 } = cell.summary ?? {}
  const what = `cell ${cell.name} (hosts: ${hosts}, servers: ${servers})`
  if (options.dryRun === true) {
    if (servers > 0)
      throw new Failure(
        'conflict',
        `This would permanently remove ${what}, but the gateway refuses it while the cell has servers.`,
      )
    operator.out.write(`This would permanently remove ${what}.\n`)
    return
  }
  if (options.yes !== true) {
    const flags = options.forget === true ? '--forget --yes' : '--yes'
    throw new Failure(
      'invalid',
      `This permanently removes ${what}. To proceed, run: ./weir cell leave ${cell.name} ${flags}`,
    )
  }
  const query = options.forget === true ? { forget: true } : {}
  await federation.ask('delete', '/v1/cells/{cell}', { path: { cell: cell.id }, query })
  await operator.forgetCell(cell.id, { keepsDisks: options.forget === true })
  operator.err.write(`Cell ${cell.name} has left; its credentials are refused from now on.\n`)
}

export interface LoseOptions extends CloudOptions {
  readonly dryRun?: true
  readonly yes?: true
  /** How its machines were stopped. */
  readonly stopped: string
}

/**
 * Afterwards a cell that will not come back is lost, and its servers are in no cell. Throws `conflict` for a reachable
 * cell. A dry run prints the cell that would be lost, or throws the same.
 */
export async function loseCell(
  operator: Operator,
  name: string,
  options: LoseOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  const cell = await federation.ask('get', '/v1/cells/{cell}', { path: { cell: name } })
  const { hosts = 0, servers = 0 } = cell.summary ?? {}
  const what = `cell ${cell.name} (hosts: ${hosts}, servers: ${servers})`
  if (options.dryRun === true) {
    if (cell.is_reachable)
      throw new Failure(
        'conflict',
        `This would declare lost: ${what}. The gateway refuses it while the cell is reachable.`,
      )
    operator.out.write(`This would declare lost: ${what}.\n`)
    return
  }
  if (options.yes !== true)
    throw new Failure(
      'invalid',
      `This permanently declares lost: ${what}. If its machines are off, add --yes.`,
    )
  const body = { statement: options.stopped }
  await federation.ask('post', '/v1/cells/{cell}/lost', { path: { cell: cell.id }, body })
  await operator.retireCell(cell.id)
  operator.err.write(
    `Cell ${cell.name} is lost: the gateways now take its servers from it. If its machines come back, join it again in its directory with a token of ./weir cell token create ${cell.name} --renew. Its hosts then destroy the guests of servers that it has lost.\n`,
  )
}
