import type { Command } from 'commander'
import { withCloud } from '../api-options.ts'
import type { BundleOptions } from '../debug/write-bundle.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addDebugCommands(program: Command, operator: Operator): void {
  const debug = noun(program, 'debug', 'what helps to find a fault')
  withExamples(
    withCloud(debug.command('bundle')),
    './weir debug bundle',
    './weir debug bundle --file /tmp/bundle.tar.gz',
  )
    .description(
      'an archive of cells, hosts, settings and logs, without passwords, tokens and keys',
    )
    .option('--file <file>', 'where to write it; nothing is overwritten')
    .action(async (options: BundleOptions) => {
      const { writeBundle } = await import('../debug/write-bundle.ts')
      await writeBundle(operator, options)
    })
}
