import type { Command } from 'commander'
import { systemClock } from '#common/clock.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { type DeploymentState, existingState } from '../../deployment/state.ts'
import type { ProcessState } from '../../status/process-states.ts'
import { endpointOf } from '../../up/endpoint.ts'
import { say } from '../say.ts'

const NAME_WIDTH = 24
const PID_WIDTH = 8
const MEMORY_WIDTH = 5
const EXIT_PARTIAL = 4

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description(
      'List the processes; exit with 4 when some do not run, a credential has ended, or the gateway does not know this cell or host any more',
    )
    .action(async () => {
      const { processStates } = await import('../../status/process-states.ts')
      const { examineCredentials } = await import('../../doctor/examine-credentials.ts')
      const { examineMembership } = await import('../../doctor/examine-membership.ts')
      const layout = layoutIn()
      const state = existingState(layout)
      const processes = await processStates(layout, state)
      for (const each of processes) say(lineOf(each))
      const memoryMib = processes.reduce((sum, each) => sum + each.memoryMib, 0)
      say()
      say(
        `${whatIs(state)} ${endpointOf(state)}/identity/v3, driver ${state.driver.name}, ${memoryMib} MiB`,
      )
      const now = systemClock.now()
      const findings = [
        ...examineCredentials(layout, state, now),
        ...(await examineMembership(layout, state, now)),
      ].filter(({ is }) => is !== 'ok')
      for (const { what } of findings) say(what)
      if (findings.some(({ is }) => is === 'bad')) process.exitCode = EXIT_PARTIAL
      const dead = processes.filter(({ isAlive }) => !isAlive)
      if (dead.length === 0) return
      say(`${dead.length} not running. ./weir up starts them.`)
      process.exitCode = EXIT_PARTIAL
    })
}

function whatIs({ joined, host }: DeploymentState): string {
  if (host !== undefined) return 'Host of'
  return joined === undefined ? 'Endpoint' : 'Cell of'
}

function lineOf({ name, isAlive, pid, memoryMib }: ProcessState): string {
  const start = name.padEnd(NAME_WIDTH)
  if (!isAlive) return `${start} down`
  const memory = String(memoryMib).padStart(MEMORY_WIDTH)
  return `${start} up    pid ${String(pid).padEnd(PID_WIDTH)} ${memory} MiB`
}
