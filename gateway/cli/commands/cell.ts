import { type Command, InvalidArgumentError, Option } from 'commander'
import { Failure } from '#common/errors.ts'
import { withCloud, withView, withWatch } from '../api-options.ts'
import type { Change, LeaveOptions, LoseOptions } from '../cells/cells.ts'
import type { DrainCellOptions } from '../cells/drain-cell.ts'
import type { OrphanOptions } from '../cells/list-orphans.ts'
import type { RecoverOptions } from '../cells/recover-cell.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import { count, duration, seconds } from '../option-values.ts'
import type { ViewOptions } from '../output/present.ts'
import { label, taint } from '../placement-policies/option-values.ts'
import { addTokenCommands } from './token.ts'

const WEIGHT_MAX = 1_000

interface CellOptions extends ViewOptions {
  readonly weight?: number
  /** False: none. */
  readonly transportZone?: string | false
  readonly recoverAfter?: number | false
  /** False: none. */
  readonly label?: Change['labels'] | false
  /** False: none. */
  readonly taint?: Change['taints'] | false
}

export function addCellCommands(program: Command, operator: Operator): void {
  const cell = noun(program, 'cell', 'Manage cells, the sites that schedule and run servers')
  addReading(cell, operator)
  addDeciding(cell, operator)
  addDraining(cell, operator)
  addLeaving(cell, operator)
  addLosing(cell, operator)
  addRecovering(cell, operator)
  withExamples(
    withWatch(withView(cell.command('orphans <cell>'))),
    './weir cell orphans north',
    './weir cell orphans north --adopt 01a1ff41-2069-4605-8cdc-5e0eef8ca4a4',
    './weir cell orphans north --end 01a1ff41-2069-4605-8cdc-5e0eef8ca4a4 --yes',
  )
    .description(
      'List servers of a cell that the gateways do not know, after a restore of their database',
    )
    .option('--adopt <server>', 'Adopt this server again, as the cell remembers it')
    .option(
      '--project <project>',
      'Project that gets the server (default: the one it was built for)',
    )
    .option('--end <server>', 'Delete this server from the cell, with its disks')
    .option('--yes', 'Confirm: the data on its disks is lost')
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
    .description('List cells')
    .action(async (options: ViewOptions) => {
      const { listCells } = await import('../cells/cells.ts')
      await listCells(operator, options)
    })
  withExamples(withWatch(withView(cell.command('show <cell>'))), './weir cell show north -o json')
    .description('Show a cell, its hosts and their recent events')
    .action(async (name: string, options: ViewOptions) => {
      const { showCell } = await import('../cells/cells.ts')
      await showCell(operator, name, options)
    })
}

function addDeciding(cell: Command, operator: Operator): void {
  withExamples(withView(cell.command('enable <cell>')), './weir cell enable north')
    .description('Allow new servers in a cell again')
    .action(async (name: string, options: ViewOptions) => {
      const { updateCell } = await import('../cells/cells.ts')
      await updateCell(operator, name, { is_enabled: true }, options)
    })
  withExamples(
    withView(cell.command('disable <cell>')),
    "./weir cell disable north --reason 'power works until noon'",
  )
    .description('Place no new server in a cell; existing servers stay')
    .option('--reason <text>', 'Reason, shown to operators')
    .action(async (name: string, options: ViewOptions & { readonly reason?: string }) => {
      const { updateCell } = await import('../cells/cells.ts')
      const { reason: disabled_reason = null } = options
      await updateCell(operator, name, { is_enabled: false, disabled_reason }, options)
    })
  withExamples(
    withView(cell.command('update <cell>')),
    './weir cell update north --weight 2',
    './weir cell update north --transport-zone east',
    './weir cell update north --recover-after 5m',
    './weir cell update north --label site=berlin tier=own --taint dedicated=research:NoSchedule',
  )
    .description(
      'Set the scheduling weight, the transport zone, the labels, the taints and the failover of a cell',
    )
    .option('--weight <number>', 'Weight (default of a new cell: 1)', weight)
    .option(
      '--transport-zone <name>',
      'Zone of cells whose hosts tunnel to each other (default: the one of all cells without a named one)',
    )
    .option('--no-transport-zone', 'Put it back into the zone of all cells without a named one')
    .option('--label <labels...>', 'Labels instead of the present ones, each as KEY=VALUE', label)
    .option('--no-label', 'Remove all labels')
    .option(
      '--taint <taints...>',
      'Taints instead of the present ones, each as KEY[=VALUE]:NoSchedule or KEY[=VALUE]:PreferNoSchedule',
      taint,
    )
    .option('--no-taint', 'Remove all taints')
    .option(
      '--recover-after <time>',
      'Time without contact, such as 5m, after which it is lost and its servers are built in others',
      duration,
    )
    .option('--no-recover-after', 'Never declare it lost without an operator')
    .action(async (name: string, options: CellOptions) => {
      const { updateCell } = await import('../cells/cells.ts')
      const change = changeOf(options)
      if (Object.keys(change).length === 0)
        throw new Failure(
          'invalid',
          'Give --weight, --transport-zone, --label, --taint or --recover-after.',
        )
      await updateCell(operator, name, change, options)
    })
}

function changeOf({
  weight: given,
  transportZone,
  label: labels,
  taint: taints,
  recoverAfter,
}: CellOptions): Change {
  return {
    ...(given === undefined ? {} : { weight: given }),
    ...(transportZone === undefined ? {} : { transport_zone: transportZone || null }),
    ...(labels === undefined ? {} : { labels: labels || {} }),
    ...(taints === undefined ? {} : { taints: taints || [] }),
    ...(recoverAfter === undefined ? {} : { recover_after_s: recoverAfter || null }),
  }
}

function addDraining(cell: Command, operator: Operator): void {
  withExamples(
    withView(cell.command('drain <cell>')),
    './weir cell drain north --dry-run',
    "./weir cell drain north --reason 'new racks' --wait",
    './weir cell drain north --to-other-cells --parallel 10 --wait',
    './weir cell drain north --to-other-cells --dry-run',
    './weir cell drain north --to-other-cells --deadline 7200',
  )
    .description('Disable a cell and drain its hosts; a repeat continues the drains in progress')
    .option('--reason <text>', 'Reason, shown to operators')
    .option('--to-other-cells', 'Move the servers to other cells; each is shut down meanwhile')
    .addOption(
      new Option(
        '--no-move',
        'Move no server, also where its placement policy lets drains do so',
      ).conflicts('toOtherCells'),
    )
    .option(
      '--parallel <count>',
      'Move at most so many servers of each host at a time (default: 2)',
      count,
    )
    .option(
      '--deadline <seconds>',
      'Begin no move after this time, and report what is left',
      seconds,
    )
    .option(
      '--dry-run',
      'Only list the hosts that would be drained; with --to-other-cells their servers, and why one cannot move',
    )
    .option('--wait', 'Wait until all hosts are empty')
    .option(
      '--timeout <seconds>',
      'Stop waiting for each host after this time; the drain continues',
      seconds,
    )
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
    .description('Remove a cell without servers for good; its credentials are refused at once')
    .option('--dry-run', 'Only show what would be removed, and whether it may be')
    .option('--yes', 'Confirm: the cell can return only as a new one')
    .option('--forget', 'Do not query the servers of the cell, because it no longer exists')
    .action(async (name: string, options: LeaveOptions) => {
      const { leaveCell } = await import('../cells/cells.ts')
      await leaveCell(operator, name, options)
    })
}

function addLosing(cell: Command, operator: Operator): void {
  withExamples(
    withCloud(cell.command('lost <cell>')),
    "./weir cell lost west --stopped 'power of rack 7 cut at 12:04' --dry-run",
    "./weir cell lost west --stopped 'power of rack 7 cut at 12:04' --yes",
  )
    .description('Declare a cell lost, with its servers')
    .requiredOption(
      '--stopped <how>',
      'Statement of how its machines were stopped; it is recorded, not checked',
    )
    .option('--dry-run', 'Only show what would be lost, and whether the cell may be declared lost')
    .option('--yes', 'Confirm: servers of the cell are in ERROR from then on')
    .action(async (name: string, options: LoseOptions) => {
      const { loseCell } = await import('../cells/cells.ts')
      await loseCell(operator, name, options)
    })
}

function addRecovering(cell: Command, operator: Operator): void {
  withExamples(
    withView(cell.command('recover <cell>')),
    './weir cell recover west --dry-run',
    './weir cell recover west --wait',
    './weir cell recover west --from image --parallel 50',
  )
    .description('Build the servers of a lost cell again in other cells')
    .addOption(
      new Option(
        '--from <source>',
        'Build from the newest snapshot of each server if it has one, or from its image in any case (default: snapshot)',
      ).choices(['snapshot', 'image']),
    )
    .option('--parallel <count>', 'Build at most so many servers at a time (default: 10)', count)
    .option('--reason <text>', 'Reason, shown to operators')
    .option(
      '--dry-run',
      'Only show in which cell each server would be built, and from what, or why not',
    )
    .option('--wait', 'Wait until no server is left')
    .option('--timeout <seconds>', 'Stop waiting after this time; the recovery continues', seconds)
    .action(async (name: string, options: RecoverOptions) => {
      const { recoverCell } = await import('../cells/recover-cell.ts')
      await recoverCell(operator, name, options)
    })
}

function weight(text: string): number {
  const value = Number(text)
  if (value >= 0 && value <= WEIGHT_MAX) return value
  throw new InvalidArgumentError(`Give a number from 0 to ${WEIGHT_MAX}.`)
}
