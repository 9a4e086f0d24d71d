import type { ApiClient } from '#test/env/api/client.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { makeTargets, type Targets } from './targets.ts'

/** One cloud for a whole walk, with one of everything a path can name. */
export interface WalkWorld extends AsyncDisposable {
  readonly cloud: Cloud
  /** Who may do everything. */
  readonly admin: ApiClient
  /** Whose the targets are. */
  readonly owner: ApiClient
  readonly targets: Targets
}

export async function walkWorld(): Promise<WalkWorld> {
  const cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  try {
    const admin = cloud.as('admin')
    const owner = cloud.as('demo')
    const targets = await makeTargets(cloud)
    return {
      cloud,
      admin,
      owner,
      targets,
      [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
    }
  } catch (error) {
    await cloud[Symbol.asyncDispose]()
    throw error
  }
}
