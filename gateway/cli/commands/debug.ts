import type { Command } from 'commander'
import { withCloud } from '../api-options.ts'
import type { BundleOptions } from '../debug/write-bundle.ts'
import { withExamples } from '../examples.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addDebugCommands(program: Command, operator: Operator): void {
  const debug = noun(program, 'debug', 'Find faults')
  withExamples(
    withCloud(debug.command('bundle')),
    './weir debug bundle',
    './weir debug bundle --file /tmp/bundle.tar.gz',
  )
    .description(
      'Write an archive of cells, hosts, settings and logs, without passwords, tokens and keys',
    )
    .option('--file <file>', 'File to write; an existing file is not overwritten')
    .action(async (options: BundleOptions) => {
      const { writeBundle } = await import('../debug/write-bundle.ts')
      await writeBundle(operator, options)
    })
}
