import { openSession, type Session } from '../cloud/session.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import { type Host, hostListing } from '../hosts/host-listing.ts'
import {
  type RemainingServer,
  remainingServers,
  remainingView,
} from '../hosts/remaining-servers.ts'
import { type Operation, operationListing } from '../operations/operation-listing.ts'
import { type WaitOptions, waitForOperation } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { styleFor } from '../output/style.ts'
import { listView, rendered, type View } from '../output/view.ts'

export interface DrainCellOptions extends WaitOptions {
  readonly reason?: string
  readonly wait?: true
  readonly dryRun?: true
  /** All servers are moved to other cells; else those whose placement policies let drains do so, and the others are waited for. */
  readonly toOtherCells?: true
  /** False: servers are only waited for, whatever their placement policies say. */
  readonly move: boolean
  /** Of each host, the most servers that move at a time. */
  readonly parallel?: number
  /** Seconds. */
  readonly deadline?: number
}

/**
 * Afterwards no new server is placed in the cell or on any of its hosts, and the operations are shown that end once the
 * hosts are empty; with `wait`, all have ended. A repeat continues those in progress. A dry run shows the hosts,
 * or the servers with the cell to which each would go, or why it would not.
 */
export async function drainCell(
  operator: Operator,
  name: string,
  options: DrainCellOptions,
): Promise<void> {
  const session = await openSession(operator, options)
  const { federation } = session
  const cell = await federation.ask('get', '/v1/cells/{cell}', { path: { cell: name } })
  const hosts = await allHosts(session, cell.id)
  const show = async (view: View) => {
    operator.out.write(await rendered(view, options.output, styleFor(operator.out, operator.env)))
  }
  if (options.dryRun === true && options.toOtherCells === true) {
    operator.err.write(
      `This would disable cell ${cell.name}, drain its hosts, and move their servers to other cells. Hosts now: ${hosts.length}.\n`,
    )
    const servers: RemainingServer[] = []
    for (const host of hosts) servers.push(...(await remainingServers(session, host, true)))
    return show(remainingView(servers, true))
  }
  if (options.dryRun === true) {
    operator.err.write(`This would disable cell ${cell.name} and drain its hosts:\n`)
    return show(listView(hosts, hostListing(new Map([[cell.id, cell.name]]), Date.now())))
  }
  const { reason, toOtherCells = false, parallel, deadline } = options
  const path = { cell: cell.id }
  const decided = { is_enabled: false, disabled_reason: reason ?? null }
  await federation.ask('patch', '/v1/cells/{cell}', { path, body: decided })
  // One that does not answer is asked by the operations, once it does.
  const move = options.move && (toOtherCells || (await doPoliciesMove(session)))
  if (move && cell.is_reachable) await cordonAll(session, hosts, reason)
  const operations: Operation[] = []
  for (const { id } of hosts)
    operations.push(
      await federation.ask('post', '/v1/hosts/{host}/drain', {
        path: { host: id },
        body: {
          ...{ move, to_other_cells: toOtherCells },
          ...(parallel !== undefined && { parallel }),
          ...(deadline !== undefined && { deadline_s: Math.ceil(deadline) }),
          ...(reason !== undefined && { reason }),
        },
      }),
    )
  if (options.wait === true)
    for (const { id } of operations) await waitForOperation(operator, id, options)
  else await show(listView(operations, operationListing(Date.now())))
}

/** True where some placement policy lets drains move servers to other cells. */
async function doPoliciesMove({ federation }: Session): Promise<boolean> {
  const { placement_policies: policies } = await federation.ask('get', '/v1/placement-policies')
  return policies.some((policy) => policy.drains_to_other_cells)
}

/** Before the first host is drained, so that none of its servers goes to another host that is drained after it. */
async function cordonAll(
  { federation }: Session,
  hosts: readonly Host[],
  reason = 'Its cell is being drained.',
): Promise<void> {
  const body = { is_cordoned: true, cordon_reason: reason }
  for (const { id, is_cordoned } of hosts)
    if (!is_cordoned)
      await federation.ask('patch', '/v1/hosts/{host}', { path: { host: id }, body })
}
