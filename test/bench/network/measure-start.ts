import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '@nats-io/nkeys'
import { type Layout, layoutIn, makeFolders } from '#deploy/deployment/layout.ts'
import { planDeployment } from '#deploy/deployment/plan.ts'
import { type DeploymentState, launchedHosts } from '#deploy/deployment/state.ts'
import { endNamespace, type Holder, startNamespace } from '#deploy/namespace/namespace.ts'
import { joinNetwork, startNetwork, stopNetwork } from '#deploy/ovn/deployment-network.ts'
import { processesNaming, pssMiB } from '../proc.ts'

/** The part that OVN has in `./weir up`, for two hosts. */
export interface StartFigures {
  readonly cells: number
  /** Until the databases of each cell run, and every host is joined. */
  readonly ms: number
  /** Of all processes of OVN and Open vSwitch (PSS). */
  readonly memoryMiB: number
}

/** Starts and ends OVN as `./weir up` does, for one cell of two hosts and for two cells of one. */
export async function measureStart(): Promise<readonly StartFigures[]> {
  return [await startOf(1, 2), await startOf(2, 1)]
}

async function startOf(cells: number, hosts: number): Promise<StartFigures> {
  await using owned = new AsyncDisposableStack()
  const layout = layoutIn(mkdtempSync(join(tmpdir(), 'weir-up-')))
  owned.defer(() => rmSync(layout.home, { recursive: true, force: true }))
  makeFolders(layout)
  const driver = { name: 'libvirt', why: 'as requested' } as const
  const state = await planDeployment({ cells, hosts }, driver, createAccount().getPublicKey())
  owned.defer(() => stopNetwork(layout, state))
  const holders: Holder[] = []
  for (const _ of launchedHosts(state)) {
    const holder = await startNamespace()
    owned.defer(() => endNamespace(holder))
    holders.push(holder)
  }
  const startedAt = performance.now()
  await start(layout, state, holders)
  const ms = performance.now() - startedAt
  const memory = processesNaming(layout.home).map(pssMiB)
  return { cells, ms, memoryMiB: memory.reduce((sum, each) => sum + each, 0) }
}

/** Afterwards OVN runs as in a deployment whose hosts live in these namespaces. */
async function start(layout: Layout, state: DeploymentState, holders: readonly Holder[]) {
  const network = (await startNetwork(layout, state, () => {}))!
  await Promise.all(
    launchedHosts(state).map(({ id, name }, place) =>
      joinNetwork(layout, state, network, { id, name, holder: holders[place]! }),
    ),
  )
}
