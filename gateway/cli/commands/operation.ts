import { type Command, Option } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { OperationOptions } from '../operations/operations.ts'
import type { WaitOptions } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { count, seconds } from '../option-values.ts'
import type { ViewOptions } from '../output/present.ts'

const EXAMPLE_ID = '01a1ff41-2069-4605-8cdc-5e0eef8ca4a4'
const LIMIT = 100

export function addOperationCommands(program: Command, operator: Operator): void {
  const operation = noun(program, 'operation', 'Manage operations, which are long-running work')
  addReading(operation, operator)
  addActing(operation, operator)
}

function addReading(operation: Command, operator: Operator): void {
  const state = new Option('--state <state>', 'Only in this state')
  withExamples(
    withWatch(withView(operation.command('list'))),
    './weir operation list --state running --watch',
  )
    .description('List operations, newest first')
    .addOption(state.choices(['running', 'done', 'failed', 'cancelled']))
    .option('-n, --limit <n>', 'Maximum number', count, LIMIT)
    .action(async (options: OperationOptions) => {
      const { listOperations } = await import('../operations/operations.ts')
      await listOperations(operator, options)
    })
  withExamples(
    withWatch(withView(operation.command('show <id>'))),
    `./weir operation show ${EXAMPLE_ID}`,
  )
    .description('Show an operation')
    .action(async (id: string, options: ViewOptions) => {
      const { showOperation } = await import('../operations/operations.ts')
      await showOperation(operator, id, options)
    })
}

function addActing(operation: Command, operator: Operator): void {
  withExamples(
    withView(operation.command('wait <id>')),
    `./weir operation wait ${EXAMPLE_ID} --timeout 600`,
  )
    .description('Wait for an operation, and show its progress')
    .option('--timeout <seconds>', 'Stop waiting after this time; the operation continues', seconds)
    .action(async (id: string, options: WaitOptions) => {
      const { waitForOperation } = await import('../operations/wait-for-operation.ts')
      await waitForOperation(operator, id, options)
    })
  withExamples(
    withView(operation.command('continue <id>')),
    './weir operation list --state failed',
    `./weir operation continue ${EXAMPLE_ID}`,
  )
    .description('Continue a stuck operation, once its cause is fixed')
    .action(async (id: string, options: ViewOptions) => {
      const { continueOperation } = await import('../operations/operations.ts')
      await continueOperation(operator, id, options)
    })
  withExamples(
    withView(operation.command('cancel <ids...>')),
    `./weir operation cancel ${EXAMPLE_ID}`,
    './weir operation list --state running -o name | xargs ./weir operation cancel',
  )
    .description('Cancel operations')
    .action(async (ids: readonly string[], options: ViewOptions) => {
      const { cancelOperations } = await import('../operations/operations.ts')
      await cancelOperations(operator, ids, options)
    })
}
