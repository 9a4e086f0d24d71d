import type { Command } from 'commander'
import { withView } from '../api-options.ts'
import { withExamples } from '../examples.ts'
import type { PathOptions } from '../networks/explain-path.ts'
import { noun } from '../noun.ts'
import type { Operator } from '../operator.ts'

export function addNetworkCommands(program: Command, operator: Operator): void {
  const network = noun(program, 'network', 'Explain the paths of packets')
  withExamples(
    withView(network.command('why <from> <to>')),
    './weir network why 10.0.0.5 10.0.0.6 --protocol tcp --port 80',
    './weir network why 10.0.0.5 203.0.113.20 --protocol icmp',
  )
    .description(
      'Explain whether packets from one address or port ID reach another, and what stops them',
    )
    .option('--protocol <protocol>', 'Protocol, such as tcp, udp or icmp (default: any)')
    .option('--port <number>', 'Port of the receiver')
    .action(async (from: string, to: string, options: PathOptions) => {
      const { explainPath } = await import('../networks/explain-path.ts')
      await explainPath(operator, from, to, options)
    })
}
