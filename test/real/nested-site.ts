import { SERVERS } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { type LibvirtSite, startLibvirtSite } from './libvirt-site.ts'
import type { ServerCells, Site } from './server-cells.ts'

interface ServerBelow {
  readonly id: string
  readonly name: string
}

/** A cell whose one host is another cloud, whose guests run on a libvirt host there. */
export interface NestedSite extends Site {
  readonly below: Cloud
  /** What runs its guests. */
  readonly bottom: LibvirtSite
  serversBelow(): Promise<readonly ServerBelow[]>
}

/** A cloud of a libvirt host as the cell's one host, until `owned` is disposed of. */
export async function startNestedSite(
  owned: AsyncDisposableStack,
  cells: ServerCells,
  cloud: Cloud,
  name: string,
  directory: string,
): Promise<NestedSite> {
  const size = { gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }
  const below = owned.use(await startCloud(size))
  const bottom = await startLibvirtSite(owned, below, 'north', directory)
  const settings = { ...nestedSettingsFor(below), hypervisor_type: 'QEMU' }
  const host = await startDrivenHost(cloud, 'nested', settings, undefined, cloud.cell(name))
  owned.use(host)
  const serversBelow = async () =>
    (await below.as('demo').get<{ servers: readonly ServerBelow[] }>(SERVERS)).body.servers
  /** The cloud below has a server of the same name. */
  const idBelow = async (id: string) => {
    const { body } = await cells.admin.get<{ server: ServerBelow }>(`${SERVERS}/${id}`)
    return (await serversBelow()).find((each) => each.name === body.server.name)!.id
  }
  return {
    ...{ name, host, below, bottom, serversBelow },
    mark: async (id, byte) => bottom.mark(await idBelow(id), byte),
    isMarked: async (id, byte) => bottom.isMarked(await idBelow(id), byte),
    end: async () => {},
  }
}
