import { type Command, Option } from 'commander'
import { withView } from '../api-options.ts'
import type { AuditOptions } from '../audit/list-audit.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import { count } from '../option-values.ts'

const LIMIT = 100

export function addAuditCommands(program: Command, operator: Operator): void {
  const audit = noun(program, 'audit', 'Read the audit log: who changed what')
  withExamples(
    withView(audit.command('list')),
    './weir audit list --outcome failure',
    './weir audit list --request req-7c1e9bb2-2e0f-4f1c-9c5e-0c7f0d1b6a11',
  )
    .description('List requests that changed something or tried to, newest first')
    .option('--user <id>', 'Only by this user')
    .option('--project <id>', 'Only with a token of this project')
    .option('--request <id>', 'Only the request with this ID')
    .option('--action <action>', 'Only this action, such as compute:createServer')
    .addOption(
      new Option('--outcome <outcome>', 'Only with this outcome').choices(['success', 'failure']),
    )
    .option('-n, --limit <n>', 'Maximum number', count, LIMIT)
    .action(async (options: AuditOptions) => {
      const { listAudit } = await import('../audit/list-audit.ts')
      await listAudit(operator, options)
    })
}
