import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { PlacementOptions } from '../servers/explain-placement.ts'

/** Refuses the options of a new server for an existing one, whose decisions are on record. */
function assertNoOptions(
  name: string,
  options: WhyOptions & { readonly server?: string | undefined },
): void {
  if (options.server !== undefined)
    throw new Failure('invalid', `Give ${name} or the server ${options.server}, not both.`)
  const given = (['flavor', 'image', 'zone', 'network', 'host', 'project', 'policy'] as const).find(
    (option) => options[option] !== undefined,
  )
  if (given === undefined) return
  throw new Failure(
    'invalid',
    `--${given} describes a new server, but ${name} names an existing one. Give the one or the other.`,
  )
}

type WhyOptions = PlacementOptions & { readonly volume?: string }

export function addWhyCommand(program: Command, operator: Operator): void {
  withExamples(
    withView(program.command('why [server]')),
    './weir why web',
    './weir why web -o wide   # also shows filters that refused nothing',
    './weir why --flavor m1.tiny --image tiny --zone north',
    './weir why --volume data',
  )
    .description(
      'Explain why a server or volume is where it is, or where a new server would be placed',
    )
    .option('--volume <volume>', 'Volume to explain, by name or ID')
    .option('--flavor <flavor>', 'Flavor of a dry-run placement, by name or ID')
    .option('--image <image>', 'Image of a dry-run placement, by name or ID')
    .option('--zone <zone>', 'Availability zone')
    .option('--network <networks...>', 'Networks that the server needs')
    .option('--host <host>', 'Only host that is considered')
    .option('--project <project>', 'Project whose server it would be (default: that of the user)')
    .option('--policy <policy>', 'Placement policy that the user would choose')
    .action(async (name: string | undefined, options: WhyOptions) => {
      if (options.volume !== undefined) {
        assertNoOptions(`--volume ${options.volume}`, { ...options, server: name })
        const { explainVolume } = await import('../volumes/explain-volume.ts')
        return explainVolume(operator, options.volume, options)
      }
      if (name === undefined) {
        const { explainPlacement } = await import('../servers/explain-placement.ts')
        return explainPlacement(operator, options)
      }
      assertNoOptions(name, options)
      const { explainServer } = await import('../servers/explain-server.ts')
      return explainServer(operator, name, options)
    })
}
