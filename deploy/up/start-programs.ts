import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, saveState } from '../deployment/state.ts'
import { isRunning } from '../process/process-identity.ts'
import { stopProcess } from '../process/stop-process.ts'
import { type Program, settingsDigest, startProgram } from '../processes/program.ts'
import { runsFromHere } from '../upgrade/running-code.ts'

const GRACE_MS = 15_000

/** Starts programs of a deployment, and returns the deployment with them. */
export type StartPrograms = (
  layout: Layout,
  state: DeploymentState,
  programs: readonly Program[],
) => Promise<DeploymentState>

/**
 * Afterwards every program runs with its present settings: programs that ran with them already were not touched, and
 * those with other settings (a database had to take another port) were restarted. Each is saved before it starts. A
 * program that was started from another folder, which may have another release, is left to `./weir upgrade run`.
 */
export async function startPrograms(
  layout: Layout,
  state: DeploymentState,
  programs: readonly Program[],
): Promise<DeploymentState> {
  let current = state
  for (const program of programs) {
    const known = current.processes[program.name]
    const digest = settingsDigest(program)
    if (known !== undefined && isRunning(known)) {
      if (known.settingsDigest === digest || !runsFromHere(known.pid)) continue
      await stopProcess(known, GRACE_MS)
    }
    await startProgram(layout, program, (identity) => {
      const started = { ...identity, settingsDigest: digest }
      current = { ...current, processes: { ...current.processes, [program.name]: started } }
      saveState(layout, current)
    })
  }
  return current
}
