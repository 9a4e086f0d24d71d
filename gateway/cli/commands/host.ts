import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { DrainOptions, EvacuateOptions } from '../hosts/drain-host.ts'
import type { HostOptions } from '../hosts/hosts.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import { count, seconds } from '../option-values.ts'
import { addHostTraitCommands } from './host-trait.ts'

export function addHostCommands(program: Command, operator: Operator): void {
  const host = noun(program, 'host', 'Manage hosts, on which servers run')
  addReading(host, operator)
  addUnmanagedGuests(host, operator)
  addCordoning(host, operator)
  addDraining(host, operator)
  addEvacuating(host, operator)
  addShuttingOut(host, operator)
  addHostTraitCommands(host, operator)
}

function addReading(host: Command, operator: Operator): void {
  withExamples(
    withWatch(withView(host.command('list'))),
    './weir host list --cell north',
    './weir host list -o wide',
  )
    .description('List hosts')
    .option('--cell <cell>', 'Only of this cell')
    .action(async (options: HostOptions) => {
      const { listHosts } = await import('../hosts/hosts.ts')
      await listHosts(operator, options)
    })
  withExamples(withWatch(ofCell(host.command('show <host>'))), './weir host show north-1')
    .description('Show a host, its servers and its recent events')
    .action(async (name: string, options: HostOptions) => {
      const { showHost } = await import('../hosts/hosts.ts')
      await showHost(operator, name, options)
    })
}

function addUnmanagedGuests(host: Command, operator: Operator): void {
  withExamples(ofCell(host.command('guests <host>')), './weir host guests lab-1')
    .description('List unmanaged guests of a host; ./weir server adopt adopts one')
    .action(async (name: string, options: HostOptions) => {
      const { listUnmanagedGuests } = await import('../hosts/hosts.ts')
      await listUnmanagedGuests(operator, name, options)
    })
}

function addCordoning(host: Command, operator: Operator): void {
  withExamples(ofCell(host.command('cordon <host>')), "./weir host cordon north-1 --reason 'a fan'")
    .description('Place no new server on a host; existing servers stay')
    .option('--reason <text>', 'Reason, shown to operators')
    .action(async (name: string, options: HostOptions & { readonly reason?: string }) => {
      const { cordonHost } = await import('../hosts/hosts.ts')
      const { reason } = options
      const why = reason === undefined ? {} : { cordon_reason: reason }
      await cordonHost(operator, name, { is_cordoned: true, ...why }, options)
    })
  withExamples(ofCell(host.command('uncordon <host>')), './weir host uncordon north-1')
    .description('Allow new servers on a host again')
    .action(async (name: string, options: HostOptions) => {
      const { cordonHost } = await import('../hosts/hosts.ts')
      await cordonHost(operator, name, { is_cordoned: false }, options)
    })
}

function addDraining(host: Command, operator: Operator): void {
  withExamples(
    ofCell(host.command('drain <host>')),
    './weir host drain north-1 --dry-run',
    "./weir host drain north-1 --reason 'new disks' --wait --timeout 3600",
    './weir host drain north-1 --parallel 4 --live-only --deadline 7200',
  )
    .description('Cordon a host, and move its servers to other hosts of its cell')
    .option('--reason <text>', 'Reason, shown to operators')
    .option('--no-move', 'Do not move servers; report when the host has none left')
    .option('--parallel <count>', 'Move at most so many servers at a time (default: 2)', count)
    .option('--live-only', 'Stop no server to move it')
    .option(
      '--to-other-cells',
      'Move servers that no other host of the cell takes to other cells, shut down meanwhile',
    )
    .option(
      '--deadline <seconds>',
      'Begin no move after this time, and report what is left',
      seconds,
    )
    .option(
      '--dry-run',
      'Only list the servers that would be moved, or waited for; with --to-other-cells why one cannot move',
    )
    .option('--wait', 'Wait until the host is empty')
    .option('--timeout <seconds>', 'Stop waiting after this time; the drain continues', seconds)
    .action(async (name: string, options: DrainOptions) => {
      const { drainHost } = await import('../hosts/drain-host.ts')
      await drainHost(operator, name, options)
    })
}

function addEvacuating(host: Command, operator: Operator): void {
  withExamples(
    ofCell(host.command('evacuate <host>')),
    './weir host evacuate north-1 --yes',
    './weir host evacuate north-1 --yes --parallel 10 --wait',
  )
    .description('Build the servers of a host that is down again on other hosts of its cell')
    .option('--yes', 'Confirm: the host is off, so that none of its guests runs')
    .option('--reason <text>', 'Reason, shown to operators')
    .option('--parallel <count>', 'Build at most so many servers at a time (default: 2)', count)
    .option(
      '--deadline <seconds>',
      'Begin nothing after this time, and report what is left',
      seconds,
    )
    .option('--wait', 'Wait until no server is left on the host')
    .option('--timeout <seconds>', 'Stop waiting after this time; the work continues', seconds)
    .action(async (name: string, options: EvacuateOptions) => {
      const { evacuateHost } = await import('../hosts/drain-host.ts')
      await evacuateHost(operator, name, options)
    })
}

function addShuttingOut(host: Command, operator: Operator): void {
  withExamples(
    ofCell(host.command('shut-out <host>')),
    './weir host shut-out west-3 --yes',
    './weir cell token create west --host west-3 --renew   # lets it in again',
  )
    .description('Refuse the credentials of a host on the bus for good; its guests keep running')
    .option('--yes', 'Confirm: the host can return only with a new token')
    .action(async (name: string, options: HostOptions & { readonly yes?: true }) => {
      const { shutOutHost } = await import('../hosts/hosts.ts')
      await shutOutHost(operator, name, options)
    })
}

/** Names of hosts are unique within their cell only. */
function ofCell(command: Command): Command {
  return withView(command).option(
    '--cell <cell>',
    'Cell of the host, where several cells have a host of this name',
  )
}
