import { Failure } from '#common/errors.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'

export interface LeaveOptions extends CloudOptions {
  readonly dryRun?: true
  /** The cell is gone and cannot be asked what it has. */
  readonly forget?: true
  readonly yes?: true
}

/**
 * Afterwards the cell is unknown to the gateways, its credentials are worthless, and its processes on this machine
 * have ended. Throws `conflict` while it has servers. A dry run prints what would leave, and whether it may.
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
  const what = `cell ${cell.name} with ${hosts} hosts and ${servers} servers`
  if (options.dryRun === true) {
    const verdict = servers > 0 ? ' It may not while it has servers.' : ''
    operator.out.write(`This would leave: ${what}.${verdict}\n`)
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
