import type { Command } from 'commander'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import { endpointOf } from '../../up/endpoint.ts'
import { say } from '../say.ts'

const NAME_WIDTH = 24
const EXIT_PARTIAL = 4

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('which processes run; exit code 4 when some do not')
    .action(async () => {
      const { processStates } = await import('../../status/process-states.ts')
      const layout = layoutIn()
      const state = existingState(layout)
      const processes = processStates(layout, state)
      for (const { name, isAlive, pid } of processes)
        say(`${name.padEnd(NAME_WIDTH)} ${isAlive ? `running  pid ${pid}` : 'not running'}`)
      say()
      say(`Endpoint ${endpointOf(state)}/identity/v3, driver ${state.driver.name}`)
      const dead = processes.filter(({ isAlive }) => !isAlive)
      if (dead.length === 0) return
      say(`${dead.length} not running. ./weir up starts them.`)
      process.exitCode = EXIT_PARTIAL
    })
}
