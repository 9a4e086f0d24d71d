import type { Command } from 'commander'
import { withView, withWatch } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { HostOptions } from '../hosts/hosts.ts'
import type { PreloadOptions } from '../images/preload-image.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'
import { seconds } from '../option-values.ts'
import type { ViewOptions } from '../output/present.ts'

export function addImageCommands(program: Command, operator: Operator): void {
  const image = noun(program, 'image', 'Show where images are, and preload them')
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
  withExamples(
    withWatch(withView(image.command('caches <image>'))),
    './weir image caches debian-13',
    './weir image caches debian-13 --watch',
  )
    .description('List the cells whose image cache has an image')
    .action(async (name: string, options: ViewOptions) => {
      const { listCaches } = await import('../images/list-caches.ts')
      await listCaches(operator, name, options)
    })
  withExamples(
    withView(image.command('preload <image>')),
    './weir image preload debian-13 --cell north',
    './weir image preload debian-13 --cell north --timeout 600',
  )
    .description('Fetch an image into the image cache of a cell, before servers need it')
    .requiredOption('--cell <cell>', 'The cell')
    .option('--timeout <seconds>', 'Stop waiting after this time; the cell goes on', seconds)
    .action(async (name: string, options: PreloadOptions) => {
      const { preloadImage } = await import('../images/preload-image.ts')
      await preloadImage(operator, name, options)
    })
}
