import type { Command } from 'commander'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { withView } from '#gateway/cli/api-options.ts'
import type { Operator } from '#gateway/cli/operator.ts'
import type { ViewOptions } from '#gateway/cli/output/present.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { type DeploymentState, existingState } from '../../deployment/state.ts'
import type { ProcessState } from '../../status/process-states.ts'
import { endpointOf } from '../../up/exposed.ts'
import { say } from '../say.ts'

const NAME_WIDTH = 24
const PID_WIDTH = 8
const MEMORY_WIDTH = 5
const EXIT_PARTIAL = 4

interface StatusOptions extends ViewOptions {
  readonly cluster?: true
}

export function addStatusCommand(program: Command, operator: Operator): void {
  withView(program.command('status'))
    .option(
      '--cluster',
      'Show gateways, database, bus, cells, queues, certificates, releases and clocks instead; exit with 4 when one is not ok',
    )
    .description(
      'List the processes; exit with 4 if a process or the supervisor does not run, a credential has expired, or the gateway no longer knows this cell or host',
    )
    .action(async ({ cluster, ...options }: StatusOptions) => {
      if (cluster === true) {
        const { showHealth } = await import('#gateway/cli/health/show-health.ts')
        await showHealth(operator, options)
        return
      }
      if (options.output !== 'table')
        throw new Failure('invalid', '--output is for --cluster: ./weir status --cluster -o json')
      const { processStates } = await import('../../status/process-states.ts')
      const { examineCredentials } = await import('../../doctor/examine-credentials.ts')
      const { examineMembership } = await import('../../doctor/examine-membership.ts')
      const { describeEndedProcesses, supervisionOf } = await import(
        '../../supervisor/supervision.ts'
      )
      const layout = layoutIn()
      const state = existingState(layout)
      const processes = await processStates(layout, state)
      for (const each of processes) say(lineOf(each))
      const { pid, endedProcesses } = supervisionOf(layout)
      for (const line of describeEndedProcesses(endedProcesses)) say(line)
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
      if (pid === undefined)
        say('No supervisor runs: what ends is not restarted. ./weir up starts one.')
      if (dead.length > 0)
        say(
          `${dead.length} not running. ${pid === undefined ? './weir up' : 'The supervisor'} starts them.`,
        )
      if (dead.length > 0 || pid === undefined) process.exitCode = EXIT_PARTIAL
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

const WORD_WIDTH = 5

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check this machine for missing packages, busy ports and other problems; exit with 1 when something must be done',
    )
    .action(async () => {
      const { examine } = await import('../../doctor/examine.ts')
      const findings = await examine(layoutIn())
      for (const { is, what } of findings) say(`${is.padEnd(WORD_WIDTH)} ${what}`)
      if (findings.some(({ is }) => is === 'bad')) process.exitCode = 1
    })
}
