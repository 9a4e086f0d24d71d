import { type Command, InvalidArgumentError } from 'commander'
import { withCloud, withView } from '../api-options.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import type { TokenOptions } from '../tokens/tokens.ts'

const UNIT_S: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 }

export function addTokenCommands(cell: Command, operator: Operator): void {
  const token = noun(cell, 'token', 'Manage one-time join tokens for cells and hosts')
  withExamples(
    withView(token.command('create <name>')),
    './weir cell token create west --expires 30m',
    './weir cell token create west --host west-3',
    './weir cell token create west --host west-3 --renew',
  )
    .description(
      'Create a one-time token, and print the command that joins a cell or a host with it',
    )
    .option('--host <name>', 'Name of a new host that joins the existing cell')
    .option('--renew', 'Let an existing cell or host in again, with a new credential')
    .option('--expires <time>', 'Lifetime, such as 30m, 2h or 1d (default: 1h)', duration)
    .action(async (cell: string, options: TokenOptions) => {
      const { createToken } = await import('../tokens/tokens.ts')
      await createToken(operator, cell, options)
    })
  withExamples(withView(token.command('list')), './weir cell token list')
    .description('List join tokens, newest first')
    .action(async (options: ViewOptions) => {
      const { listTokens } = await import('../tokens/tokens.ts')
      await listTokens(operator, options)
    })
  withExamples(
    withCloud(token.command('revoke <id>')),
    './weir cell token revoke 01a1ff41-2069-4605-8cdc-5e0eef8ca4a4',
  )
    .description('Revoke a join token; cells and hosts that have joined stay')
    .action(async (id: string, options: CloudOptions) => {
      const { revokeToken } = await import('../tokens/tokens.ts')
      await revokeToken(operator, id, options)
    })
}

/** In seconds. */
function duration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const seconds = Number(count) * (UNIT_S[unit] ?? Number.NaN)
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('Give a number of minutes, hours or days: 30m, 2h, 1d.')
}
