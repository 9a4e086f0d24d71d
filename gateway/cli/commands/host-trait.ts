import type { Command } from 'commander'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { HostOptions } from '../hosts/hosts.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addHostTraitCommands(host: Command, operator: Operator): void {
  const trait = noun(host, 'trait', 'Manage traits of hosts, which flavors and images require')
  withExamples(ofCell(trait.command('list <host>')), './weir host trait list north-1')
    .description('List the traits of a host, found by its driver or given')
    .action(async (name: string, options: HostOptions) => {
      const { listHostTraits } = await import('../hosts/host-traits.ts')
      await listHostTraits(operator, name, options)
    })
  withExamples(
    ofCell(trait.command('add <host> <trait...>')),
    './weir host trait add north-1 CUSTOM_FAST',
  )
    .description('Give a host traits, whose names begin with CUSTOM_; new ones are created')
    .action(async (name: string, traits: readonly string[], options: HostOptions) => {
      const { addHostTraits } = await import('../hosts/host-traits.ts')
      await addHostTraits(operator, name, traits, options)
    })
  withExamples(
    ofCell(trait.command('remove <host> <trait...>')),
    './weir host trait remove north-1 CUSTOM_FAST',
  )
    .description('Take away traits that a host was given; its servers stay')
    .action(async (name: string, traits: readonly string[], options: HostOptions) => {
      const { removeHostTraits } = await import('../hosts/host-traits.ts')
      await removeHostTraits(operator, name, traits, options)
    })
}

/** Names of hosts are unique within their cell only. */
function ofCell(command: Command): Command {
  return withView(command).option(
    '--cell <cell>',
    'Cell of the host, where several cells have a host of this name',
  )
}
