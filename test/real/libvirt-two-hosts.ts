import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Cloud } from '../env/cloud.ts'
import { type LibvirtSite, startLibvirtSite } from './libvirt-site.ts'
import { type ServerCells, startServerCells } from './server-cells.ts'

const PROGRAM_MS = 20_000
/** Boots nothing: the fastest guest there is. */
const BLANK = { disk_format: 'raw', container_format: 'bare' }
const PREFIX = 'weir-'

export interface TwoHosts {
  readonly cloud: Cloud
  readonly cells: ServerCells
  /** Both are of the cell `north`. */
  readonly hosts: readonly [LibvirtSite, LibvirtSite]
  readonly imageRef: string
  /** For what other hosts have on disk. */
  readonly folder: string
}

export interface TwoHostsOptions {
  readonly limitMs: number
  /** More than one: the others have no hosts yet. */
  readonly count?: number
  /** More settings of every cell. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A cloud whose cell `north` has two hosts, each with a libvirt of its own, until `owned` is disposed of. */
export async function startTwoHosts(
  owned: AsyncDisposableStack,
  { limitMs, count = 1, settings = {} }: TwoHostsOptions,
): Promise<TwoHosts> {
  const { cloud, cells, folder } = await startServerCells(owned, count, limitMs, settings)
  const one = await startLibvirtSite(owned, cloud, 'north', join(folder, 'one'))
  const two = await startLibvirtSite(owned, cloud, 'north', join(folder, 'two'))
  const imageRef = await cells.upload('blank', BLANK, Buffer.alloc(1024 ** 2))
  return { cloud, cells, hosts: [one, two], imageRef, folder }
}

/** Ids of the servers that libvirt has a domain of, all or those that run, in their order. */
export async function domainsOn(
  { libvirt }: LibvirtSite,
  which: 'all' | 'running' = 'all',
): Promise<readonly string[]> {
  const args = ['-q', 'list', '--name', ...(which === 'all' ? ['--all'] : [])]
  const { stdout } = await libvirt.run('virsh', args, { timeoutMs: PROGRAM_MS })
  const names = stdout.split('\n').filter((name) => name !== '')
  return names.map((name) => name.replace(PREFIX, '')).toSorted()
}

/** Ids of the servers that have a folder for their disks on the host. */
export function foldersOn(cloud: Cloud, { host }: LibvirtSite): readonly string[] {
  const folder = join(cloud.foundation.directory, host.name, 'instances')
  return existsSync(folder) ? readdirSync(folder) : []
}

/** The process of the guest, as the host numbers it; undefined while there is none. */
export async function guestPid(
  { libvirt }: LibvirtSite,
  serverId: string,
): Promise<string | undefined> {
  const file = `/run/libvirt/qemu/${PREFIX}${serverId}.pid`
  const options = { timeoutMs: PROGRAM_MS }
  return libvirt.run('cat', [file], options).then(
    ({ stdout }) => stdout.trim() || undefined,
    () => undefined, // libvirt removes it with the guest.
  )
}

/** Afterwards the guest's process has been told to end at once. */
export async function killGuest({ libvirt }: LibvirtSite, pid: string): Promise<void> {
  await libvirt.run('kill', ['-KILL', pid], { timeoutMs: PROGRAM_MS })
}

/** What placement counts as used of the host. */
export async function usagesOf({ admin }: ServerCells, { host }: LibvirtSite): Promise<object> {
  const path = `/placement/resource_providers/${host.id}/usages`
  return (await admin.get<{ usages: object }>(path)).body.usages
}

/** What placement has of the server, by provider. */
export async function allocationsOf({ admin }: ServerCells, serverId: string): Promise<object> {
  const path = `/placement/allocations/${serverId}`
  return (await admin.get<{ allocations: object }>(path)).body.allocations
}

/** What counts in the quota of the servers' project. */
export async function usageOf({ demo }: ServerCells): Promise<object> {
  type Limits = { readonly limits: { readonly absolute: object } }
  return (await demo.get<Limits>('/compute/v2.1/limits')).body.limits.absolute
}
