import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { processStates } from './process-states.ts'

/** True when the deployment was finished once and all its processes run. */
export async function isUp(layout: Layout, state: DeploymentState): Promise<boolean> {
  return state.isReady && (await processStates(layout, state)).every(({ isAlive }) => isAlive)
}
