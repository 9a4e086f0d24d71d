import type { DeploymentState } from '../deployment/state.ts'

/** Where clients reach a deployment: its first gateway, or that of the deployment elsewhere. */
export function endpointOf(state: DeploymentState): string {
  const elsewhere = state.joined ?? state.host
  if (elsewhere !== undefined) return elsewhere.gatewayUrl
  const [gateway] = state.gateways
  if (gateway === undefined) throw new Error('A deployment has at least one gateway')
  return `http://127.0.0.1:${gateway.port}`
}
