import { Failure } from '#common/errors.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'

export interface LoseOptions extends CloudOptions {
  readonly dryRun?: true
  readonly yes?: true
  /** How its machines were stopped. */
  readonly stopped: string
}

/**
 * Afterwards a cell that will not be heard again is given up, and its servers with it. Throws `conflict` for a cell that
 * is heard. A dry run tells what would be given up.
 */
export async function loseCell(
  operator: Operator,
  name: string,
  options: LoseOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  const cell = await federation.ask('get', '/v1/cells/{cell}', { path: { cell: name } })
  const { hosts = 0, servers = 0 } = cell.summary ?? {}
  const what = `cell ${cell.name} with ${hosts} hosts and ${servers} servers`
  if (options.dryRun === true) {
    const verdict = cell.is_reachable ? ' It may not while it can be reached.' : ''
    operator.out.write(`This would give up: ${what}.${verdict}\n`)
    return
  }
  if (options.yes !== true)
    throw new Failure(
      'invalid',
      `This would give up for good: ${what}. If its machines are off, say --yes as well.`,
    )
  const body = { statement: options.stopped }
  await federation.ask('post', '/v1/cells/{cell}/lost', { path: { cell: cell.id }, body })
  await operator.retireCell(cell.id)
  operator.err.write(
    `Cell ${cell.name} is lost: its servers are being taken from it. If it comes back, it joins again in its folder, and what its hosts still have of them is destroyed: ./weir cell token create ${cell.name} --renew\n`,
  )
}
