import { type Session, signIn } from '../api/session.ts'
import { DEMO_FLAVORS, DEMO_MACHINE_FLAVOR, ensureFlavors } from '../catalog/ensure-flavors.ts'
import { ensureImage } from '../catalog/ensure-image.ts'
import { ensureExternalNetwork, ensureNetwork } from '../catalog/ensure-network.ts'
import { ensureServer } from '../catalog/ensure-server.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { DEMO_IMAGE, demoImage } from '../hypervisors/demo-image.ts'
import { PUBLIC } from '../ovn/deployment-network.ts'
import { OUTSIDE } from '../ovn/underlay.ts'
import { endpointOf } from './exposed.ts'

const FIRST_SERVER = { name: 'first', image: DEMO_IMAGE, network: 'private' }

/** Afterwards the demo's flavors, image and network exist: made through the API, each only where it is missing. */
export async function makeCatalog(
  admin: Session,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<void> {
  progress('Making flavors, image and network ...')
  await ensureFlavors(admin, flavorsOf(state))
  await ensureImage(admin, await demoImage(state.driver.name))
  await ensureNetwork(admin)
}

/** Afterwards the deployment's own outside is an external network, where OVN can route to it. Its hosts are up before. */
export async function makeExternalNetwork(admin: Session, state: DeploymentState): Promise<void> {
  if (state.network !== 'ovn') return
  const { cidr, address: gateway } = OUTSIDE
  await ensureExternalNetwork(admin, { physicalNetwork: PUBLIC, cidr, gateway })
}

/** Afterwards a server of the demo's user is ACTIVE. */
export async function bootFirstServer(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<void> {
  const { name } = FIRST_SERVER
  progress(`Booting server ${name} ...`)
  const startMs = performance.now()
  const demo = await signIn(endpointOf(state), cloudAccount(layout, 'weir'))
  await ensureServer(demo, { ...FIRST_SERVER, flavor: flavorsOf(state)[0]!.name })
  const tookS = ((performance.now() - startMs) / 1_000).toFixed(1)
  progress(`Server ${name} is ACTIVE after ${tookS} s`)
}

/** The first is the demo's smallest. */
function flavorsOf({ driver }: DeploymentState) {
  return driver.name === 'baremetal' ? [DEMO_MACHINE_FLAVOR] : DEMO_FLAVORS
}
