import { type Command, InvalidArgumentError, Option } from 'commander'
import { withView } from '../api-options.ts'
import type { AuditOptions } from '../audit/list-audit.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

const LIMIT = 100

export function addAuditCommands(program: Command, operator: Operator): void {
  const audit = noun(program, 'audit', 'who changed what')
  withExamples(
    withView(audit.command('list')),
    './weir audit list --outcome failure',
    './weir audit list --request req-7c1e9bb2-2e0f-4f1c-9c5e-0c7f0d1b6a11',
  )
    .description('requests that were to change something, the newest first')
    .option('--user <id>', 'by this user')
    .option('--project <id>', 'with a token of this project')
    .option('--request <id>', 'the request with this id')
    .option('--action <action>', 'such as compute:createServer')
    .addOption(new Option('--outcome <outcome>', 'only those').choices(['success', 'failure']))
    .option('-n, --limit <n>', 'how many at most', count, LIMIT)
    .action(async (options: AuditOptions) => {
      const { listAudit } = await import('../audit/list-audit.ts')
      await listAudit(operator, options)
    })
}

function count(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  throw new InvalidArgumentError('Give a whole number of 1 or more.')
}
