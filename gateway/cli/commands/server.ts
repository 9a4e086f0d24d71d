import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import type { AdoptOptions } from '../servers/adopt-guest.ts'
import type { VerifyOptions } from '../servers/verify-server.ts'

export function addServerCommands(program: Command, operator: Operator): void {
  const server = noun(program, 'server', 'where a server is, and what was done to it')
  withExamples(withWatch(withView(server.command('where <server>'))), './weir server where web')
    .description('its cell, its host and its zone; by name or id, of any project')
    .action(async (name: string, options: ViewOptions) => {
      const { locateServer } = await import('../servers/locate-server.ts')
      await locateServer(operator, name, options)
    })
  withExamples(
    withWatch(withView(server.command('trace <server>'))),
    './weir server trace web -o json',
  )
    .description('every scheduling decision about it; ./weir why tells them in words')
    .action(async (name: string, options: ViewOptions) => {
      const { traceServer } = await import('../servers/trace-server.ts')
      await traceServer(operator, name, options)
    })
  withExamples(withWatch(withView(server.command('events <server>'))), './weir server events web')
    .description('what was done to it, the newest first')
    .action(async (name: string, options: ViewOptions) => {
      const { listActions } = await import('../servers/list-actions.ts')
      await listActions(operator, name, options)
    })
  withExamples(
    withWatch(withView(server.command('verify <server>'))),
    './weir server verify web',
    './weir server verify web --fix',
  )
    .description('whether gateway, cell and host say the same of it; exit code 1 when not')
    .option(
      '--fix',
      'have what is shown of it be what its cell says; the rest is put right by itself',
    )
    .option('--dry-run', 'with --fix: change nothing')
    .action(async (name: string, options: VerifyOptions) => {
      const { verifyServer } = await import('../servers/verify-server.ts')
      await verifyServer(operator, name, options)
    })
  addAdopting(server, operator)
}

function addAdopting(server: Command, operator: Operator): void {
  withExamples(
    withView(server.command('adopt <guest>')),
    './weir server adopt GUEST --host lab-1 --project web --flavor m1.small --image debian',
  )
    .description('take in a guest that a host has already; ./weir host guests lists them')
    .requiredOption('--host <host>', 'where it is')
    .requiredOption('--project <project>', 'whose server it becomes, and who is charged for it')
    .requiredOption('--flavor <flavor>', 'as large as the guest')
    .requiredOption('--image <image>', 'what a rebuild is from')
    .option('--name <name>', 'of the server (default: that of the guest)')
    .option('--cell <cell>', 'where several cells have a host of this name')
    .action(async (guest: string, options: AdoptOptions) => {
      const { adoptGuest } = await import('../servers/adopt-guest.ts')
      await adoptGuest(operator, guest, options)
    })
}
