import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import type { HostRecord } from '../deployment/state.ts'
import { startDockerEngine } from '../docker-engine/docker-engine.ts'
import { installPackages } from '../packages/install-packages.ts'
import { type HostShare, shareSettings } from './host-share.ts'
import type { PreparedHosts } from './prepare-hosts.ts'

/** Afterwards a Docker engine of its own runs for each host. */
export async function prepareDockerHosts(
  layout: Layout,
  hosts: readonly HostRecord[],
  share: HostShare,
  progress: (line: string) => void,
): Promise<PreparedHosts> {
  await installPackages(['docker'], progress)
  const settings = await Promise.all(
    hosts.map(async ({ id, name }) => {
      const { endpoint } = await startDockerEngine(join(layout.hosts, name, 'docker'))
      return [id, { endpoint, hostname: name, ...shareSettings(share) }] as const
    }),
  )
  return { settings: new Map(settings), guests: 'containers of private Docker engines' }
}
