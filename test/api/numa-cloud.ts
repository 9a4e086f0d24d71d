import { expect } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  activeServer,
  createServer,
  SERVERS,
  type Server,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

export interface Provider {
  readonly uuid: string
  readonly name: string
  readonly parent_provider_uuid: string | null
  readonly root_provider_uuid: string
}

export type Amounts = Readonly<Record<string, number>>

export const NOTHING = { VCPU: 0, MEMORY_MB: 0, PCPU: 0 }
/** What a server of one node takes of it, and one of two nodes of each. */
export const WHOLE = { VCPU: 2, MEMORY_MB: 256 }
export const HALF = { VCPU: 1, MEMORY_MB: 128 }
export const USED = { ...NOTHING, ...WHOLE }

/** A cell with two hosts, each of two NUMA nodes that are providers of their own, and flavors for them. */
export class NumaCloud implements AsyncDisposable {
  readonly cloud: Cloud
  readonly demo: ApiClient
  readonly admin: ApiClient

  private constructor(cloud: Cloud) {
    this.cloud = cloud
    this.demo = cloud.as('demo')
    this.admin = cloud.as('admin')
  }

  static async start(): Promise<NumaCloud> {
    const made = new NumaCloud(
      await startCloud({
        cells: 1,
        hostsPerCell: 2,
        driver: { vcpus: '6', memory_mb: '1025', numa_nodes: '2', resources: 'PCPU=4' },
        cell: { CELL_CPU_ALLOCATION_RATIO: '1', CELL_RAM_ALLOCATION_RATIO: '1' },
        compute: {
          COMPUTE_ENABLE_NUMA_REPORTING_TO_PLACEMENT: 'true',
          COMPUTE_RESERVED_MEMORY_MB: '1',
        },
      }),
    )
    await made.#flavor('node', { vcpus: 2, ram: 256 }, { 'hw:numa_nodes': '1' })
    await made.#flavor('nodes', { vcpus: 2, ram: 256 }, { 'hw:numa_nodes': '2' })
    await made.#flavor('pinned', { vcpus: 3, ram: 64 }, { 'hw:cpu_policy': 'dedicated' })
    await made.#flavor('shared', { vcpus: 1, ram: 600 }, {})
    return made
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud[Symbol.asyncDispose]()
  }

  async #flavor(id: string, size: object, specs: Loose): Promise<void> {
    await this.admin.post('/compute/v2.1/flavors', { flavor: { id, name: id, disk: 1, ...size } })
    await this.admin.post(`/compute/v2.1/flavors/${id}/os-extra_specs`, { extra_specs: specs })
  }

  /** Afterwards the user has no server, and nothing that one had is left. */
  async deleteAll(): Promise<void> {
    const { body } = await this.demo.get<{ servers: readonly Server[] }>(SERVERS)
    await Promise.all(body.servers.map(({ id }) => this.demo.delete(`${SERVERS}/${id}`)))
    for (const { id } of body.servers) await untilGone(this.demo, id)
    await expectInvariants(this.cloud)
  }

  async placement<T = Loose>(path: string): Promise<T> {
    const { status, body } = await this.admin.get<T>(`/placement${path}`, { version: '1.39' })
    expect(status, path).toBe(200)
    return body
  }

  async providers(query = ''): Promise<readonly Provider[]> {
    const { resource_providers: found } = await this.placement<{
      readonly resource_providers: readonly Provider[]
    }>(`/resource_providers${query}`)
    return found
  }

  /** Of a host, and of its nodes in their order. */
  async treeOf(host: string): Promise<readonly [Provider, ...Provider[]]> {
    const all = await this.providers()
    const root = all.find(({ name }) => name === host)!
    return [root, ...all.filter(({ parent_provider_uuid: parent }) => parent === root.uuid)]
  }

  /** Of the nodes of a host. */
  async usagesOf(host: string): Promise<readonly Amounts[]> {
    const [, ...nodes] = await this.treeOf(host)
    const usages = nodes.map(({ uuid }) =>
      this.placement<{ readonly usages: Amounts }>(`/resource_providers/${uuid}/usages`),
    )
    return (await Promise.all(usages)).map((each) => each.usages)
  }

  /** The same, the fuller one first: right after a server is gone, its node may seem taken to the next one. */
  async sortedUsagesOf(host: string): Promise<readonly Amounts[]> {
    return (await this.usagesOf(host)).toSorted((a, b) => b['VCPU']! - a['VCPU']!)
  }

  /** By the name of the provider. */
  async heldBy(server: string): Promise<Readonly<Record<string, Amounts>>> {
    const { allocations } = await this.placement<{
      readonly allocations: Readonly<Record<string, { readonly resources: Amounts }>>
    }>(`/allocations/${server}`)
    const names = new Map((await this.providers()).map(({ uuid, name }) => [uuid, name]))
    return Object.fromEntries(
      Object.entries(allocations).map(([id, { resources }]) => [names.get(id)!, resources]),
    )
  }

  /** Where the guest itself is, as its host says. */
  async nodesOfGuest(server: string): Promise<readonly number[]> {
    const { body } = await this.admin.get<{ nodes: readonly { host_node: number }[] }>(
      `${SERVERS}/${server}/topology`,
      { version: '2.78' },
    )
    return body.nodes.map(({ host_node: node }) => node)
  }

  /** The amounts that a server holds of the nodes on which its guest is; it holds nothing of others. */
  async heldWhereItIs(server: string, host: string): Promise<readonly Amounts[]> {
    const [nodes, held] = [await this.nodesOfGuest(server), await this.heldBy(server)]
    const names = nodes.map((node) => `${host}_NUMA_${node}`)
    expect(Object.keys(held).toSorted()).toEqual([host, ...names].toSorted())
    return names.map((name) => held[name]!)
  }

  boot(flavorRef: string): Promise<Server> {
    return activeServer(this.cloud, this.demo, { flavorRef })
  }

  /** Why no host took the server. */
  async refused(flavorRef: string): Promise<string> {
    const id = await createServer(this.cloud, this.demo, { flavorRef })
    await expect(untilStatus(this.demo, id, 'ACTIVE')).rejects.toThrow('No valid host')
    const { body } = await this.admin.get<Loose>(`/federation/v1/servers/${id}/trace`)
    return JSON.stringify(body)
  }

  /** Afterwards the host takes servers, or no more. */
  async enable(host: string, verb: 'enable' | 'disable'): Promise<void> {
    const service = { host, binary: 'nova-compute' }
    expect((await this.admin.put(`/compute/v2.1/os-services/${verb}`, service)).status).toBe(200)
  }
}
