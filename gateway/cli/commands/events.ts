import { type Command, InvalidArgumentError, Option } from 'commander'
import { withView } from '../api-options.ts'
import type { EventOptions, EventType } from '../events/list-events.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import { instant } from '../option-values.ts'

const LIMIT = 100
const LIMIT_MAX = 1_000
const TYPES = [
  'server',
  'server.action',
  'server.step',
  'server.state',
  'server.deleted',
  'volume',
  'volume.state',
  'volume.deleted',
  'snapshot',
  'snapshot.state',
  'snapshot.deleted',
  'host',
  'host.state',
  'cell',
  'cell.state',
  'operation',
  'operation.state',
  'quota.repaired',
  'flavor.changed',
  'keypair.changed',
  'aggregate.changed',
  'server-group.changed',
] as const satisfies readonly EventType[]

export function addEventsCommand(program: Command, operator: Operator): void {
  withExamples(
    withView(program.command('events')),
    './weir events -f',
    './weir events --server web --type server.action',
    './weir events -f --cell north -o json',
    './weir events --host north-1 --since 2h',
  )
    .description(
      'Show events of servers, volumes, hosts, cells and what servers are made with, oldest first',
    )
    .option('-f, --follow', 'Follow new events')
    .option('-n, --limit <n>', 'Number of past events to show first', limit, LIMIT)
    .option('--server <server>', 'Only of this server, by name or ID')
    .option('--volume <id>', 'Only of this volume and its snapshots')
    .option('--cell <cell>', 'Only of this cell')
    .option('--host <host>', 'Only on hosts of this name')
    .option('--request <id>', 'Only of this request')
    .option('--since <time>', 'Only since this time, or this long ago: 10m, 2h, 3d', instant)
    .option('--project <id>', 'Only of servers and volumes of this project')
    .addOption(new Option('--type <type>', 'Only of this type').choices(TYPES))
    .action(async (options: EventOptions) => {
      const { listEvents } = await import('../events/list-events.ts')
      await listEvents(operator, options)
    })
}

function limit(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= LIMIT_MAX) return value
  throw new InvalidArgumentError(`Give a whole number from 1 to ${LIMIT_MAX}.`)
}
