import { Failure } from '#common/errors.ts'
import { openSession } from '../cloud/session.ts'
import { operationListing } from '../operations/operation-listing.ts'
import { type WaitOptions, waitForOperation } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, rendered, type View } from '../output/view.ts'
import { findHost } from './find-host.ts'
import { remainingServers, remainingView } from './remaining-servers.ts'

export interface DrainOptions extends WaitOptions {
  readonly cell?: string
  readonly reason?: string
  readonly wait?: true
  readonly dryRun?: true
  /** False: servers are only waited for. */
  readonly move: boolean
  readonly parallel?: number
  readonly liveOnly?: true
  /** What no other host of the cell takes goes to other cells. */
  readonly toOtherCells?: true
  /** Seconds. */
  readonly deadline?: number
  /** None of its guests runs. */
  readonly evacuate?: true
}

export interface EvacuateOptions
  extends Omit<DrainOptions, 'move' | 'liveOnly' | 'toOtherCells' | 'dryRun'> {
  readonly yes?: true
}

/** Afterwards the servers of a host that is down are being built again on other hosts. Throws `invalid` unless that is confirmed. */
export async function evacuateHost(
  operator: Operator,
  name: string,
  { yes, ...options }: EvacuateOptions,
): Promise<void> {
  if (yes !== true)
    throw new Failure(
      'invalid',
      `Guests of ${name} that still run would run twice, and destroy their data. Make sure that the host is off, and repeat the command with --yes.`,
    )
  await drainHost(operator, name, { ...options, move: true, evacuate: true })
}

/**
 * Afterwards no new server goes to the host, its servers are being moved, and the operation that ends once it is empty is
 * shown; with `wait`, it has ended. A dry run shows which servers that is about, and, where they may go to other cells, which of them can.
 */
export async function drainHost(
  operator: Operator,
  name: string,
  options: DrainOptions,
): Promise<void> {
  const session = await openSession(operator, options)
  const host = await findHost(session, name, options.cell)
  const show = async (view: View) => {
    operator.out.write(await rendered(view, options.output, styleFor(operator.out, operator.env)))
  }
  if (options.dryRun === true) {
    operator.err.write(
      `This would cordon ${host.name} and ${options.move ? 'move its servers' : 'wait until it is empty'}. Servers now: ${host.servers}.\n`,
    )
    const isElsewhere = options.toOtherCells === true
    const servers = await remainingServers(session, host, isElsewhere)
    await show(remainingView(servers, isElsewhere))
    return
  }
  const { reason, move, parallel, liveOnly, toOtherCells, deadline, evacuate } = options
  const operation = await session.federation.ask('post', '/v1/hosts/{host}/drain', {
    path: { host: host.id },
    body: {
      move,
      ...(reason !== undefined && { reason }),
      ...(parallel !== undefined && { parallel }),
      ...(liveOnly === true && { live_only: true }),
      ...(toOtherCells === true && { to_other_cells: true }),
      ...(evacuate === true && { evacuate }),
      ...(deadline !== undefined && { deadline_s: Math.ceil(deadline) }),
    },
  })
  if (options.wait === true) await waitForOperation(operator, operation.id, options)
  else await show(fieldsView(operation, operationListing(Date.now())))
}
