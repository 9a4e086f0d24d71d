import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { HostOptions } from '../hosts/hosts.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addImageCommands(program: Command, operator: Operator): void {
  const image = noun(program, 'image', 'Images')
  withExamples(
    withWatch(withView(image.command('copies <image>'))),
    './weir image copies debian-13',
    './weir image copies debian-13 --cell north -o json',
  )
    .description('List the hosts that have a copy of an image, and its name in nested clouds')
    .option('--cell <cell>', 'Ask only hosts of this cell')
    .action(async (name: string, options: HostOptions) => {
      const { listCopies } = await import('../images/list-copies.ts')
      await listCopies(operator, name, options)
    })
}
