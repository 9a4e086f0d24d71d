import { type Session, signIn } from '../api/session.ts'
import { ensureFloatingIp, ensureKeypair, ensureRouter } from '../catalog/ensure-access.ts'
import { DEMO_FLAVORS, DEMO_MACHINE_FLAVOR, ensureFlavors } from '../catalog/ensure-flavors.ts'
import { ensureImage } from '../catalog/ensure-image.ts'
import {
  ensureExternalNetwork,
  ensureNetwork,
  ensureSiteNetwork,
} from '../catalog/ensure-network.ts'
import { ensureServer } from '../catalog/ensure-server.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { DEMO_IMAGE, demoImage } from '../hypervisors/demo-image.ts'
import { PUBLIC, SITE } from '../ovn/deployment-network.ts'
import { OUTSIDE } from '../ovn/underlay.ts'
import { demoKey, KEY_NAME } from '../ssh/open-shell.ts'
import { endpointOf } from './exposed.ts'

const FIRST_SERVER = { name: 'first', image: DEMO_IMAGE, network: 'private' }
const EXTERNAL = 'public'

/** Afterwards the demo's flavors, image and network exist: made through the API, each only where it is missing. */
export async function makeCatalog(
  admin: Session,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<void> {
  progress('Making flavors, image and network ...')
  await ensureFlavors(admin, flavorsOf(state))
  await ensureImage(admin, await demoImage(state.driver.name))
  if (!isOnSite(state)) await ensureNetwork(admin)
}

/** True if the demo's servers are machines on a network of the site. */
function isOnSite({ driver, network }: DeploymentState): boolean {
  return driver.name === 'baremetal' && network === 'ovn'
}

/** Afterwards the deployment's own outside is an external network that the demo's network is routed to, where OVN can do so. Its hosts are up before. */
export async function makeExternalNetwork(admin: Session, state: DeploymentState): Promise<void> {
  if (state.network !== 'ovn') return
  if (isOnSite(state)) await ensureSiteNetwork(admin, SITE)
  const { cidr, address: gateway } = OUTSIDE
  await ensureExternalNetwork(admin, { physicalNetwork: PUBLIC, cidr, gateway })
  await ensureRouter(admin, { network: FIRST_SERVER.network, external: EXTERNAL })
}

/** Afterwards a server of the demo's user is ACTIVE, and reached from outside where OVN leads there. */
export async function bootFirstServer(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<void> {
  const { name } = FIRST_SERVER
  progress(`Booting server ${name} ...`)
  const startMs = performance.now()
  const demo = await signIn(endpointOf(state), cloudAccount(layout, 'weir'))
  const isReached = state.network === 'ovn'
  if (isReached) await ensureKeypair(demo, KEY_NAME, await demoKey(layout))
  const keyName = isReached ? KEY_NAME : undefined
  await ensureServer(demo, { ...FIRST_SERVER, flavor: flavorsOf(state)[0]!.name, keyName })
  if (isReached) await ensureFloatingIp(demo, name, EXTERNAL)
  const tookS = ((performance.now() - startMs) / 1_000).toFixed(1)
  progress(`Server ${name} is ACTIVE after ${tookS} s`)
}

/** The first is the demo's smallest. */
function flavorsOf({ driver }: DeploymentState) {
  return driver.name === 'baremetal' ? [DEMO_MACHINE_FLAVOR] : DEMO_FLAVORS
}
