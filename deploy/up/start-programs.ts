import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, saveState } from '../deployment/state.ts'
import { isRunning } from '../process/process-identity.ts'
import type { Program } from '../processes/program.ts'
import { startProgram } from '../processes/start-program.ts'

/** Afterwards every program runs; those that ran already were left alone. Each start is saved at once. */
export async function startPrograms(
  layout: Layout,
  state: DeploymentState,
  programs: readonly Program[],
): Promise<DeploymentState> {
  let current = state
  for (const program of programs) {
    const known = current.processes[program.name]
    if (known !== undefined && isRunning(known)) continue
    const identity = await startProgram(layout, program)
    current = { ...current, processes: { ...current.processes, [program.name]: identity } }
    saveState(layout, current)
  }
  return current
}
