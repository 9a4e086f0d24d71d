import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { Operator } from '../operator.ts'
import type { PlacementOptions } from '../servers/explain-placement.ts'

/** What is asked about a server that is there is what was decided: it has a flavor, and was to go somewhere. */
function assertNoOptions(name: string, options: PlacementOptions): void {
  const given = (['flavor', 'image', 'zone', 'network', 'host'] as const).find(
    (option) => options[option] !== undefined,
  )
  if (given === undefined) return
  throw new Failure(
    'invalid',
    `--${given} is of a server one has in mind, and ${name} is one that is there. Leave out the one or the other.`,
  )
}

export function addWhyCommand(program: Command, operator: Operator): void {
  withExamples(
    withView(program.command('why [server]')),
    './weir why web',
    './weir why web -o wide   # filters that refused nothing, too',
    './weir why --flavor m1.tiny --image tiny --zone north',
  )
    .description('why a server is where it is, or nowhere; or where one would go now')
    .option('--flavor <flavor>', 'of the server one has in mind, by name or id')
    .option('--image <image>', 'the same')
    .option('--zone <zone>', 'where it may go')
    .option('--network <networks...>', 'what it must reach')
    .option('--host <host>', 'the only host it may go to')
    .action(async (name: string | undefined, options: PlacementOptions) => {
      if (name === undefined) {
        const { explainPlacement } = await import('../servers/explain-placement.ts')
        return explainPlacement(operator, options)
      }
      assertNoOptions(name, options)
      const { explainServer } = await import('../servers/explain-server.ts')
      return explainServer(operator, name, options)
    })
}
