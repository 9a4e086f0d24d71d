import { type Command, Option } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import { count, duration, seconds } from '../option-values.ts'
import type { ViewOptions } from '../output/present.ts'
import type { AdoptOptions } from '../servers/adopt-guest.ts'
import type { ServerListOptions, ServerStatus } from '../servers/list-servers.ts'
import type { MoveOptions } from '../servers/move-server.ts'
import type { ProtectOptions } from '../servers/protect-server.ts'
import type { VerifyOptions } from '../servers/verify-server.ts'

const LIMIT = 1_000
const STATUSES = [
  'BUILD',
  'ACTIVE',
  'SHUTOFF',
  'PAUSED',
  'SUSPENDED',
  'RESCUE',
  'VERIFY_RESIZE',
  'SHELVED',
  'SHELVED_OFFLOADED',
  'SOFT_DELETED',
  'ERROR',
  'REBOOT',
  'HARD_REBOOT',
  'PASSWORD',
  'REBUILD',
  'MIGRATING',
  'RESIZE',
  'REVERT_RESIZE',
] as const satisfies readonly ServerStatus[]

export function addServerCommands(program: Command, operator: Operator): void {
  const server = noun(
    program,
    'server',
    'List, locate, check, move, back up and adopt servers of all projects',
  )
  addListing(server, operator)
  withExamples(withWatch(withView(server.command('where <server>'))), './weir server where web')
    .description('Show the cell, host and zone of a server of any project')
    .action(async (name: string, options: ViewOptions) => {
      const { locateServer } = await import('../servers/locate-server.ts')
      await locateServer(operator, name, options)
    })
  withExamples(
    withWatch(withView(server.command('trace <server>'))),
    './weir server trace web -o json',
  )
    .description('Show the scheduling decisions of a server; ./weir why explains them')
    .action(async (name: string, options: ViewOptions) => {
      const { traceServer } = await import('../servers/trace-server.ts')
      await traceServer(operator, name, options)
    })
  withExamples(withWatch(withView(server.command('events <server>'))), './weir server events web')
    .description('List the actions of a server, newest first')
    .action(async (name: string, options: ViewOptions) => {
      const { listActions } = await import('../servers/list-actions.ts')
      await listActions(operator, name, options)
    })
  withExamples(
    withWatch(withView(server.command('verify <server>'))),
    './weir server verify web',
    './weir server verify web --fix',
  )
    .description('Check that gateway, cell and host agree on a server; exit with 1 if not')
    .option(
      '--fix',
      'Show the server as its cell describes it; other differences repair themselves',
    )
    .option('--dry-run', 'With --fix: change nothing')
    .action(async (name: string, options: VerifyOptions) => {
      const { verifyServer } = await import('../servers/verify-server.ts')
      await verifyServer(operator, name, options)
    })
  addMoving(server, operator)
  addProtecting(server, operator)
  addAdopting(server, operator)
}

function addListing(server: Command, operator: Operator): void {
  withExamples(
    withWatch(withView(server.command('list'))),
    './weir server list --status ERROR -o wide',
    './weir server list --cell north --host north-1 -o name',
  )
    .description('List servers of all cells and projects, newest first')
    .option('--cell <cell>', 'Only of this cell')
    .option('--host <host>', 'Only on hosts of this name')
    .option('--project <project>', 'Only of this project')
    .addOption(
      new Option('--status <status>', 'Only with this status, such as ACTIVE').choices(STATUSES),
    )
    .option('-n, --limit <n>', 'Maximum number', count, LIMIT)
    .action(async (options: ServerListOptions) => {
      const { listServers } = await import('../servers/list-servers.ts')
      await listServers(operator, options)
    })
}

function addMoving(server: Command, operator: Operator): void {
  withExamples(
    withView(server.command('move <server>')),
    './weir server move web --cell south --wait',
    "./weir server move web --reason 'north is full'",
    './weir server move web --dry-run',
  )
    .description('Move a server to another cell; it is shut down meanwhile')
    .option('--cell <cell>', 'Cell to move it to (default: any other that can take it)')
    .option('--reason <text>', 'Reason, shown to operators')
    .option('--dry-run', 'Only show to which cell it would go, or why it cannot be moved')
    .option('--wait', 'Wait until the server is in the other cell')
    .option('--timeout <seconds>', 'Stop waiting after this time; the move continues', seconds)
    .action(async (name: string, options: MoveOptions) => {
      const { moveServer } = await import('../servers/move-server.ts')
      await moveServer(operator, name, options)
    })
}

function addProtecting(server: Command, operator: Operator): void {
  withExamples(
    withView(server.command('protect <server>')),
    './weir server protect web --every 1h --keep 24',
    './weir server protect web --every 1h --keep 24 --to south',
  )
    .description(
      'Back a server up by a schedule; the recovery of a lost cell uses its newest backup',
    )
    .requiredOption('--every <time>', 'Time between backups, such as 30m, 1h or 1d', duration)
    .requiredOption('--keep <count>', 'Number of backups that are kept', count)
    .option('--to <cell>', 'Other cell that keeps the newest backup too, for a fast recovery there')
    .action(async (name: string, options: ProtectOptions) => {
      const { protectServer } = await import('../servers/protect-server.ts')
      await protectServer(operator, name, options)
    })
  withExamples(withView(server.command('unprotect <server>')), './weir server unprotect web')
    .description('Make no more backups of a server; those that exist stay')
    .action(async (name: string, options: ViewOptions) => {
      const { unprotectServer } = await import('../servers/protect-server.ts')
      await unprotectServer(operator, name, options)
    })
  withExamples(withWatch(withView(server.command('protections'))), './weir server protections')
    .description('List servers that are backed up by a schedule, with their last backups')
    .action(async (options: ViewOptions) => {
      const { listProtections } = await import('../servers/protect-server.ts')
      await listProtections(operator, options)
    })
}

function addAdopting(server: Command, operator: Operator): void {
  withExamples(
    withView(server.command('adopt <guest>')),
    './weir server adopt GUEST --host lab-1 --project web --flavor m1.small --image debian',
  )
    .description('Adopt an unmanaged guest of a host as a server; ./weir host guests lists them')
    .requiredOption('--host <host>', 'Host of the guest')
    .requiredOption('--project <project>', 'Project that gets the server, and is charged for it')
    .requiredOption('--flavor <flavor>', 'Flavor of the size of the guest')
    .requiredOption('--image <image>', 'Image for rebuilds')
    .option('--name <name>', 'Name of the server (default: that of the guest)')
    .option('--cell <cell>', 'Cell of the host, where several cells have a host of this name')
    .action(async (guest: string, options: AdoptOptions) => {
      const { adoptGuest } = await import('../servers/adopt-guest.ts')
      await adoptGuest(operator, guest, options)
    })
}
