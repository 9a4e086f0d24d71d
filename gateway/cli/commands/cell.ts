import { type Command, InvalidArgumentError } from 'commander'
import { withCloud, withView, withWatch } from '../api-options.ts'
import type { DrainCellOptions } from '../cells/drain-cell.ts'
import type { LeaveOptions } from '../cells/leave-cell.ts'
import type { OrphanOptions } from '../cells/list-orphans.ts'
import type { LoseOptions } from '../cells/lose-cell.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import { seconds } from '../seconds.ts'
import { addTokenCommands } from './token.ts'

const WEIGHT_MAX = 1_000

export function addCellCommands(program: Command, operator: Operator): void {
  const cell = noun(program, 'cell', 'units of scheduling and failure')
  addReading(cell, operator)
  addDeciding(cell, operator)
  addDraining(cell, operator)
  addLeaving(cell, operator)
  addLosing(cell, operator)
  withExamples(
    withWatch(withView(cell.command('orphans <cell>'))),
    './weir cell orphans north',
    './weir cell orphans north --adopt 01a1ff41-2069-4605-8cdc-5e0eef8ca4a4',
    './weir cell orphans north --end 01a1ff41-2069-4605-8cdc-5e0eef8ca4a4 --yes',
  )
    .description('servers it has that are nobody’s, after the gateways were restored from a backup')
    .option('--adopt <server>', 'take this one in again, as the cell remembers it')
    .option('--project <project>', 'whose it becomes (default: the one it was built for)')
    .option('--end <server>', 'have it end this one, with its disks')
    .option('--yes', 'do it: what is on its disks is gone then')
    .action(async (name: string, options: OrphanOptions) => {
      const { listOrphans } = await import('../cells/list-orphans.ts')
      await listOrphans(operator, name, options)
    })
  addTokenCommands(cell, operator)
}

function addReading(cell: Command, operator: Operator): void {
  withExamples(
    withWatch(withView(cell.command('list'))),
    './weir cell list',
    './weir cell list -o wide --watch',
  )
    .description('every cell, by name')
    .action(async (options: ViewOptions) => {
      const { listCells } = await import('../cells/list-cells.ts')
      await listCells(operator, options)
    })
  withExamples(withWatch(withView(cell.command('show <cell>'))), './weir cell show north -o json')
    .description('everything about one cell')
    .action(async (name: string, options: ViewOptions) => {
      const { showCell } = await import('../cells/show-cell.ts')
      await showCell(operator, name, options)
    })
}

function addDeciding(cell: Command, operator: Operator): void {
  withExamples(withView(cell.command('enable <cell>')), './weir cell enable north')
    .description('let new servers go there again')
    .action(async (name: string, options: ViewOptions) => {
      const { updateCell } = await import('../cells/update-cell.ts')
      await updateCell(operator, name, { is_enabled: true }, options)
    })
  withExamples(
    withView(cell.command('disable <cell>')),
    "./weir cell disable north --reason 'power works until noon'",
  )
    .description('let no new server go there; those that are there stay')
    .option('--reason <text>', 'why: operators are shown it')
    .action(async (name: string, options: ViewOptions & { readonly reason?: string }) => {
      const { updateCell } = await import('../cells/update-cell.ts')
      const { reason: disabled_reason = null } = options
      await updateCell(operator, name, { is_enabled: false, disabled_reason }, options)
    })
  withExamples(withView(cell.command('update <cell>')), './weir cell update north --weight 2')
    .description('how much the room of a cell counts when one is chosen')
    .requiredOption('--weight <number>', '1 unless it was changed', weight)
    .action(async (name: string, options: ViewOptions & { readonly weight: number }) => {
      const { updateCell } = await import('../cells/update-cell.ts')
      await updateCell(operator, name, { weight: options.weight }, options)
    })
}

function addDraining(cell: Command, operator: Operator): void {
  withExamples(
    withView(cell.command('drain <cell>')),
    './weir cell drain north --dry-run',
    "./weir cell drain north --reason 'new racks' --wait",
  )
    .description('disable it, and drain each of its hosts; a repeat goes on with what is under way')
    .option('--reason <text>', 'why: operators are shown it')
    .option('--dry-run', 'only show the hosts that would be drained')
    .option('--wait', 'until all are empty')
    .option('--timeout <seconds>', 'how long to wait for each at most; they go on', seconds)
    .action(async (name: string, options: DrainCellOptions) => {
      const { drainCell } = await import('../cells/drain-cell.ts')
      await drainCell(operator, name, options)
    })
}

function addLeaving(cell: Command, operator: Operator): void {
  withExamples(
    withCloud(cell.command('leave <cell>')),
    './weir cell leave west --dry-run',
    './weir cell leave west --yes',
  )
    .description('let a cell without servers leave for good: its credentials are refused at once')
    .option('--dry-run', 'only say what would leave, and whether it may')
    .option('--yes', 'do it: it can come back only as a new cell')
    .option('--forget', 'the cell is gone: do not ask it what it has')
    .action(async (name: string, options: LeaveOptions) => {
      const { leaveCell } = await import('../cells/leave-cell.ts')
      await leaveCell(operator, name, options)
    })
}

function addLosing(cell: Command, operator: Operator): void {
  withExamples(
    withCloud(cell.command('lost <cell>')),
    "./weir cell lost west --stopped 'power of rack 7 cut at 12:04' --dry-run",
    "./weir cell lost west --stopped 'power of rack 7 cut at 12:04' --yes",
  )
    .description('give up a cell that will not be heard again, and its servers with it')
    .requiredOption(
      '--stopped <how>',
      'how its machines were stopped: it is recorded, and nobody checks it',
    )
    .option('--dry-run', 'only say what would be given up, and whether it may')
    .option('--yes', 'do it: servers that ran there are in ERROR from then on')
    .action(async (name: string, options: LoseOptions) => {
      const { loseCell } = await import('../cells/lose-cell.ts')
      await loseCell(operator, name, options)
    })
}

function weight(text: string): number {
  const value = Number(text)
  if (value >= 0 && value <= WEIGHT_MAX) return value
  throw new InvalidArgumentError(`Give a number from 0 to ${WEIGHT_MAX}.`)
}
