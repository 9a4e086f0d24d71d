import { Failure } from '#common/errors.ts'
import { signIn } from '../api/session.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import { planCell } from '../deployment/plan.ts'
import { type DeploymentState, existingState, saveState } from '../deployment/state.ts'
import { keyPair } from '../nats/nats-keys.ts'
import { startNats } from '../nats.ts'
import { isUp } from '../status/is-up.ts'
import { endpointOf } from '../up/endpoint.ts'
import { bringUp } from '../up/up.ts'
import { waitForHostsNamed } from '../up/wait-ready.ts'
import type { CloudEntry } from './cloud-entry.ts'
import { writeLogin } from './cloud-login.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/

/**
 * Afterwards a cell of this name serves, whose one host is the project that the entry logs in to. What runs is left as it
 * is. Throws `conflict` for a name that is taken and while the deployment does not run.
 */
export async function joinCloud(
  layout: Layout,
  name: string,
  { login, settings }: CloudEntry,
  progress: (line: string) => void,
): Promise<void> {
  const state = existingState(layout)
  await assertJoinable(layout, state, name)
  await writeLogin(layout, name, login)
  const { keys } = await startNats(layout.nats, 'detached')
  const planned = await planCell(name, 1, keyPair(keys.gatewaySeed).getPublicKey())
  saveState(layout, { ...state, cells: [...state.cells, { ...planned, cloud: { settings } }] })
  const { state: joined } = await bringUp(layout, {}, progress)
  const admin = await signIn(endpointOf(joined), cloudAccount(layout, 'weir-admin'))
  const hosts = planned.hosts.map((host) => host.name)
  await waitForHostsNamed(layout, joined, admin, hosts)
}

async function assertJoinable(layout: Layout, state: DeploymentState, name: string): Promise<void> {
  if (!NAME.test(name))
    throw new Failure('invalid', `A cell cannot be called ${name}: letters, digits, '-', '_'.`)
  if (state.cells.some((cell) => cell.name === name))
    throw new Failure('conflict', `There is a cell ${name} already. Choose another name.`)
  if (!(await isUp(layout, state)))
    throw new Failure('conflict', 'The deployment does not run. Run: ./weir up')
}
