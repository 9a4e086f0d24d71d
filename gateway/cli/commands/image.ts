import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { HostOptions } from '../hosts/list-hosts.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addImageCommands(program: Command, operator: Operator): void {
  const image = noun(program, 'image', 'what servers are made from')
  withExamples(
    withWatch(withView(image.command('copies <image>'))),
    './weir image copies debian-13',
    './weir image copies debian-13 --cell north -o json',
  )
    .description('which hosts have it already, and what it is called in the clouds below')
    .option('--cell <cell>', 'ask hosts of this one only')
    .action(async (name: string, options: HostOptions) => {
      const { listCopies } = await import('../images/list-copies.ts')
      await listCopies(operator, name, options)
    })
}
