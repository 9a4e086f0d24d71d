import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type HostId, newId } from '#common/ids.ts'
import { createLibvirtDriver } from '#drivers/libvirt/driver.ts'
import { type GlusterStore, type StoreLine, startGluster } from '#test/env/gluster/store.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'
import { folderContent } from './libvirt-folder-content.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import type { PoolHosts } from './libvirt-pool-hosts.ts'

const PAGE = 'docs/reference/libvirt.md'
const TITLE = 'File systems of a network'
const COMMAND_MS = 60_000
/** A host's settings for the storage pool, which has this name on every host. */
const POOL = { volumePools: ['volumes'] }

export interface NetfsHosts extends PoolHosts {
  readonly gluster: GlusterStore
  /** Where the second host has the store. */
  readonly poolOfTwo: string
  readonly lineOfOne: StoreLine
}

/**
 * Afterwards the host has a pool of the volume, defined as the documentation says, which is not started. Returned is its
 * folder: the mount is in the namespaces of the host, and drivers, which are outside, see it at the same path by a link.
 */
async function giveNetfsPool(
  harness: LibvirtHarness,
  gluster: GlusterStore,
): Promise<{ readonly pool: string; readonly line: StoreLine }> {
  const line = await gluster.reachFrom(harness.host)
  const [stores, within] = ['stores', 'within'].map((name) => join(harness.directory, name)) as [
    string,
    string,
  ]
  const pool = join(stores, 'volumes')
  for (const folder of [stores, within]) await mkdir(folder)
  const inside = (command: string, ...args: readonly string[]) =>
    harness.host.run(command, args, { timeoutMs: COMMAND_MS })
  await inside('mount', '--bind', within, stores)
  await symlink(`/proc/${harness.host.holder.pid}/root${pool}`, pool)
  const { definition, define } = await documented()
  const xml = definition.replace('192.0.2.1', gluster.address).replace('/srv/volumes', pool)
  await writeFile(join(harness.directory, 'pool.xml'), xml)
  await inside('sh', '-e', '-c', `cd ${harness.directory} && ${define}`)
  return { pool, line }
}

/** What the page has an operator do. */
async function documented() {
  const section = (await readFile(PAGE, 'utf8'))
    .split('### ')
    .find((each) => each.startsWith(TITLE))!
  const [configure, definition, define] = [...section.matchAll(/```\w+\n(.*?)\n```/gs)].map(
    ([, block]) => block!,
  ) as [string, string, string]
  const settings = configure.split('gluster volume set volumes ')[1]!.split(/[\s\\]+/)
  return { settings, definition, define }
}

/** Two daemons with one pool of a file system of the network, each with a mount of its own. */
export async function startNetfsHosts(): Promise<NetfsHosts> {
  await using owned = new AsyncDisposableStack()
  const gluster = owned.use(await startGluster((await documented()).settings))
  const one = owned.use(await startLibvirtHarness('leaver'))
  const two = owned.use(await startLibvirtHarness('taker'))
  const { cellId } = one.owner
  const { pool, line } = await giveNetfsPool(one, gluster)
  const { pool: poolOfTwo } = await giveNetfsPool(two, gluster)
  const open = async (harness: LibvirtHarness) =>
    owned.use(await harness.openAs({ cellId, hostId: newId<HostId>() }, POOL))
  const [here, there] = [await open(one), await open(two)]
  const parts = owned.move()
  const { image } = one
  return {
    ...{ here, there, image, one, two, gluster, pool, poolOfTwo, lineOfOne: line },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** The same for the contract of volumes: its neighbours are on the second daemon. */
export async function startNetfsWorld(): Promise<VolumesHarness> {
  await using owned = new AsyncDisposableStack()
  const { one, two, pool, poolOfTwo, gluster } = owned.use(await startNetfsHosts())
  const { owner } = one
  const openFrom = (cellId: typeof owner.cellId) => {
    const other = { cellId, hostId: newId<HostId>() }
    const stateDirectory = join(two.directory, `state-${other.hostId}`)
    // Both hosts have the images of the first one.
    const environment = { owner: other, stateDirectory, images: one.images }
    const size = { virtType: 'qemu', vcpus: 2, memoryMb: 1024, diskGb: 20 } as const
    return createLibvirtDriver(environment, { uri: two.host.uri, ...size, ...POOL })
  }
  // What one host has written, the other one reads.
  const { content, sealed, leaveHalf } = folderContent(pool, owner, poolOfTwo)
  const parts = owned.move()
  return {
    ...one,
    ...{ content, sealed, leaveHalf },
    open: () => one.openAs(owner, POOL),
    openNeighbour: () => openFrom(owner.cellId),
    openOtherCell: () => openFrom(newId()),
    leftovers: async (id) => [...(await one.leftovers(id)), ...(await two.leftovers(id))],
    volumeLeftovers: async (id) => (await gluster.files()).filter((each) => each.includes(id)),
    // Its guests have no operating system.
    guestsRelease: false,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
