import { signIn } from '../api/session.ts'
import { ensureFlavors } from '../catalog/ensure-flavors.ts'
import { ensureImage } from '../catalog/ensure-image.ts'
import { ensureNetwork } from '../catalog/ensure-network.ts'
import { ensureServer } from '../catalog/ensure-server.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { demoImage } from '../hypervisors/demo-image.ts'
import { endpointOf } from './endpoint.ts'
import { waitForHosts } from './wait-ready.ts'

const FIRST_SERVER = { name: 'first', flavor: 'm1.tiny', image: 'tiny', network: 'private' }

/**
 * Afterwards the demo's flavors, image and network exist and one server has booted: made through the
 * API, as an operator would, and each only where it is missing.
 */
export async function makeDemo(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<void> {
  const endpoint = endpointOf(state)
  const admin = await signIn(endpoint, cloudAccount(layout, 'weir-admin'))
  progress('Making flavors, image and network ...')
  await ensureFlavors(admin)
  await ensureImage(admin, await demoImage(state.driver.name))
  await ensureNetwork(admin)
  await waitForHosts(layout, state, admin)
  progress(`Booting server ${FIRST_SERVER.name} ...`)
  const startMs = performance.now()
  await ensureServer(await signIn(endpoint, cloudAccount(layout, 'weir')), FIRST_SERVER)
  const tookS = ((performance.now() - startMs) / 1_000).toFixed(1)
  progress(`Server ${FIRST_SERVER.name} is ACTIVE after ${tookS} s`)
}
