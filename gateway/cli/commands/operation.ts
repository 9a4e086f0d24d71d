import { type Command, InvalidArgumentError, Option } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { OperationOptions } from '../operations/list-operations.ts'
import type { WaitOptions } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import { seconds } from '../seconds.ts'

const EXAMPLE_ID = '01a1ff41-2069-4605-8cdc-5e0eef8ca4a4'
const LIMIT = 100

export function addOperationCommands(program: Command, operator: Operator): void {
  const operation = noun(program, 'operation', 'long work that goes on by itself')
  addReading(operation, operator)
  addActing(operation, operator)
}

function addReading(operation: Command, operator: Operator): void {
  const state = new Option('--state <state>', 'in this state only')
  withExamples(
    withWatch(withView(operation.command('list'))),
    './weir operation list --state running --watch',
  )
    .description('what was begun and what is under way, the newest first')
    .addOption(state.choices(['running', 'done', 'failed', 'cancelled']))
    .option('-n, --limit <n>', 'how many at most', count, LIMIT)
    .action(async (options: OperationOptions) => {
      const { listOperations } = await import('../operations/list-operations.ts')
      await listOperations(operator, options)
    })
  withExamples(
    withWatch(withView(operation.command('show <id>'))),
    `./weir operation show ${EXAMPLE_ID}`,
  )
    .description('everything about one')
    .action(async (id: string, options: ViewOptions) => {
      const { showOperation } = await import('../operations/show-operation.ts')
      await showOperation(operator, id, options)
    })
}

function addActing(operation: Command, operator: Operator): void {
  withExamples(
    withView(operation.command('wait <id>')),
    `./weir operation wait ${EXAMPLE_ID} --timeout 600`,
  )
    .description('show how it gets on until it has ended')
    .option('--timeout <seconds>', 'how long at most; it goes on nevertheless', seconds)
    .action(async (id: string, options: WaitOptions) => {
      const { waitForOperation } = await import('../operations/wait-for-operation.ts')
      await waitForOperation(operator, id, options)
    })
  withExamples(
    withView(operation.command('continue <id>')),
    './weir operation list --state failed',
    `./weir operation continue ${EXAMPLE_ID}`,
  )
    .description('go on with one that is stuck, once what stopped it is mended')
    .action(async (id: string, options: ViewOptions) => {
      const { continueOperation } = await import('../operations/continue-operation.ts')
      await continueOperation(operator, id, options)
    })
  withExamples(withView(operation.command('cancel <id>')), `./weir operation cancel ${EXAMPLE_ID}`)
    .description('end it where it is')
    .action(async (id: string, options: ViewOptions) => {
      const { cancelOperation } = await import('../operations/cancel-operation.ts')
      await cancelOperation(operator, id, options)
    })
}

function count(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  throw new InvalidArgumentError('Give a whole number of 1 or more.')
}
