import { isDeepStrictEqual } from 'node:util'
import { Failure } from '#common/errors.ts'
import { signIn } from '../api/session.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import { planCell } from '../deployment/plan.ts'
import {
  type CellRecord,
  type CloudRecord,
  type DeploymentState,
  existingState,
  saveState,
} from '../deployment/state.ts'
import { keyPair, natsKeys } from '../nats/nats-keys.ts'
import { isUp } from '../status/is-up.ts'
import { endpointOf } from '../up/exposed.ts'
import { bringUp } from '../up/up.ts'
import { waitForHostsNamed } from '../up/wait-ready.ts'
import type { CloudEntry } from './cloud-entry.ts'
import { writeLogin } from './cloud-login.ts'
import { projectFor, refuseOtherProject } from './same-project.ts'

type Settings = Readonly<Record<string, string>>

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/

/**
 * Afterwards a cell of this name serves, whose one host is the project that the entry logs in to. Running programs are
 * left unchanged. A join that was interrupted continues when it is repeated. Throws `conflict` for a name that is
 * taken, and while the deployment does not run.
 */
export async function joinCloud(
  layout: Layout,
  name: string,
  { login, settings }: CloudEntry,
  progress: (line: string) => void,
): Promise<void> {
  const state = existingState(layout)
  const begun = begunCell(state, name, settings)
  if (!(await isUp(layout, state)) && begun === undefined)
    throw new Failure('conflict', 'The deployment does not run. Run: ./weir up')
  if (begun !== undefined) await refuseOtherProject(layout, begun, login)
  const projectId = await projectFor(settings, login)
  await writeLogin(layout, name, login)
  const planned = begun ?? (await plan(layout, state, name, { settings, projectId }))
  const { state: joined } = await bringUp(layout, {}, progress)
  const admin = await signIn(endpointOf(joined), cloudAccount(layout, 'weir-admin'))
  const hosts = planned.hosts.map((host) => host.name)
  await waitForHostsNamed(layout, joined, admin, hosts)
}

/**
 * The cell, if the same join has begun. Throws `conflict` for another cell of the name, `invalid` for text that is not
 * a name.
 */
export function begunCell(
  { cells }: Pick<DeploymentState, 'cells'>,
  name: string,
  settings: Settings,
): CellRecord | undefined {
  if (!NAME.test(name))
    throw new Failure('invalid', `A cell cannot be called ${name}: letters, digits, '-', '_'.`)
  const known = cells.find((cell) => cell.name === name)
  if (known === undefined || isDeepStrictEqual(known.cloud?.settings, settings)) return known
  throw new Failure('conflict', `There is a cell ${name} already. Choose another name.`)
}

async function plan(
  layout: Layout,
  state: DeploymentState,
  name: string,
  cloud: CloudRecord,
): Promise<CellRecord> {
  // Made with the deployment, also where somebody else runs its bus.
  const { gatewaySeed } = natsKeys(layout.nats)
  const cell = await planCell(name, 1, keyPair(gatewaySeed).getPublicKey())
  const planned = { ...cell, cloud }
  saveState(layout, { ...state, cells: [...state.cells, planned] })
  return planned
}
