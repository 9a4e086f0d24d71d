import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { Database } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { run } from '#drivers/run.ts'
import type { ApiClient, Loose } from '../env/api/client.ts'
import { endOfOperation, type Operation } from '../env/api/operations.ts'
import { BLOCK_STORAGE as ROOT, type StoredBody, showStored } from '../env/api/volumes.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { expectInvariants } from '../env/invariants.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { expectSameContent, folderContent, type Stored } from './store-content.ts'

const COMMAND_MS = 60_000
/** What is encrypted is nowhere empty, so a whole GiB of it travels. */
export const MOVE_MS = 900_000
const poll = { timeout: MOVE_MS, interval: 1_000 }
/** In a cell's refusal of a store that has no room. */
const NO_ROOM = 'CapacityFilter'

/** What a cell has in a store, seen past every driver. */
export interface StoreDisks {
  /** The names of all that is there. */
  names(): Promise<readonly string[]>
  /** The disk of a volume, which is raw, as QEMU's programs open it. */
  diskOf(stored: Stored): string | Promise<string>
}

/** A pool that a host has besides its folder. */
export interface OtherPool {
  readonly name: string
  /** Afterwards the host's libvirt has the pool. */
  readonly giveTo: (harness: LibvirtHarness) => Promise<AsyncDisposable>
  /** Of the driver. */
  readonly settings?: Readonly<Record<string, string>>
  readonly content: (cellId: CellId) => StoreDisks
}

/** A host with a folder that has its name, and perhaps another pool. */
export interface StoreHost {
  readonly name: string
  readonly other?: OtherPool
  /** Its folder, which is there; absent: a new one. */
  readonly folder?: string
}

export interface WrittenImage {
  readonly id: string
  readonly path: string
  readonly format: 'qcow2'
}

/** A cloud of one cell whose libvirt hosts have stores between which volumes move. */
export class StoreMoveCloud implements AsyncDisposable {
  readonly cloud: Cloud
  readonly demo: ApiClient
  readonly admin: ApiClient
  readonly #parts = new AsyncDisposableStack()
  #all: AsyncDisposableStack | undefined
  readonly #hosts: DrivenHost[] = []
  readonly #contents = new Map<string, StoreDisks>()

  private constructor(cloud: Cloud) {
    this.cloud = cloud
    this.demo = cloud.as('demo')
    this.admin = cloud.as('admin')
  }

  /** Each store has a volume type of its name, and `any` allows all of them. */
  static async start(hosts: readonly StoreHost[]): Promise<StoreMoveCloud> {
    await using owned = new AsyncDisposableStack()
    const processes = { gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }
    // Volumes take room as they are written.
    const cell = { CELL_STORE_ALLOCATION_RATIO: '4' }
    const made = new StoreMoveCloud(owned.use(await startCloud({ ...processes, cell })))
    // Hosts end before the cloud does.
    owned.use(made.#parts)
    for (const host of hosts) await made.#startHost(host)
    const isThere = async () => (await made.#stores()).length === made.#contents.size
    await waitFor('all stores', isThere, MOVE_MS)
    for (const store of made.#contents.keys())
      await made.makeType(store, { volume_backend_name: store })
    await made.makeType('any', {})
    made.#all = owned.move()
    return made
  }

  async #stores(): Promise<readonly unknown[]> {
    const path = `${ROOT}/scheduler-stats/get_pools`
    return (await this.admin.get<{ pools: unknown[] }>(path)).body.pools
  }

  async #startHost({ name, other, folder }: StoreHost): Promise<void> {
    const owned = this.#parts
    const libvirt = owned.use(await startLibvirtHarness(name))
    const pool = folder ?? join(libvirt.directory, 'pool')
    if (folder === undefined) await mkdir(pool, { mode: 0o711 })
    await libvirt.virsh('pool-define-as', name, 'dir', '--target', pool)
    if (other !== undefined) owned.use(await other.giveTo(libvirt))
    const settings = {
      ...{ uri: libvirt.host.uri, vcpus: '2', memory_mb: '1024', disk_gb: '20' },
      ...{ virt_type: 'qemu', volume_pools: other === undefined ? name : `${name},${other.name}` },
      ...other?.settings,
    }
    this.#hosts.push(owned.use(await startDrivenHost(this.cloud, 'libvirt', settings)))
    const { id: cellId } = this.cloud.cells[0]!
    this.#contents.set(name, folderContent(pool, cellId))
    if (other !== undefined) this.#contents.set(other.name, other.content(cellId))
  }

  async makeType(name: string, extra_specs: object): Promise<string> {
    const body = { volume_type: { name, extra_specs } }
    const answer = await this.admin.post<Loose>(`${ROOT}/types`, body)
    return (answer.body['volume_type'] as { readonly id: string }).id
  }
  /** A type whose volumes are encrypted, in all stores that encrypt or in the one of this name. */
  async makeSealedType(name: string, store?: string, key_size = 256): Promise<void> {
    const id = await this.makeType(name, store === undefined ? {} : { volume_backend_name: store })
    const encryption = { provider: 'luks', control_location: 'front-end', key_size }
    await this.admin.post(`${ROOT}/types/${id}/encryption`, { encryption })
  }

  /** An image of the size of a volume, with something at its start, in its middle and at its very end. */
  async makeImage(): Promise<WrittenImage> {
    const path = join(this.cloud.foundation.directory, 'written.qcow2')
    const limit = { timeoutMs: COMMAND_MS }
    await run('qemu-img', ['create', '-f', 'qcow2', path, '1G'], limit)
    for (const [pattern, at] of [
      ['0xa5', '0'],
      ['0x5a', '600M'],
      ['0xc3', '1023M'],
    ])
      await run('qemu-io', ['-f', 'qcow2', '-c', `write -P ${pattern} ${at} 1M`, path], limit)
    const draft = { name: 'written', disk_format: 'qcow2', container_format: 'bare' }
    const { id } = (await this.demo.post<{ id: string }>('/image/v2/images', draft)).body
    await this.demo.call('PUT', `/image/v2/images/${id}/file`, undefined, {
      raw: await readFile(path),
      headers: { 'content-type': 'application/octet-stream' },
    })
    return { id, path, format: 'qcow2' }
  }

  show(volume: string): Promise<StoredBody | undefined> {
    return showStored(this.demo, 'volume', volume)
  }

  /** The id of a volume that is available. */
  async make(fields: object): Promise<string> {
    const volume = { size: 1, ...fields }
    const { status, body } = await this.demo.post<Loose>(`${ROOT}/volumes`, { volume })
    expect(status, JSON.stringify(body)).toBe(202)
    const { id } = body['volume'] as { readonly id: string }
    const statusOf = async () => (await this.show(id))?.status
    await expect.poll(statusOf, poll).not.toBe('creating')
    expect(await statusOf()).toBe('available')
    return id
  }

  async remove(volume: string): Promise<void> {
    expect((await this.demo.delete(`${ROOT}/volumes/${volume}`)).status).toBe(202)
    await expect.poll(() => this.show(volume), poll).toBeUndefined()
  }

  /** Afterwards it has the type. */
  async retype(volume: string, type: string): Promise<void> {
    while (!(await this.tryRetype(volume, type)))
      expect(await this.faultOf(volume)).toContain(NO_ROOM)
  }

  /** Whether it has the type once the retype has ended. */
  async tryRetype(volume: string, new_type: string): Promise<boolean> {
    const action = { 'os-retype': { new_type, migration_policy: 'on-demand' } }
    const statusOf = async () => (await this.show(volume))?.status
    await this.#begun(() => this.demo.post(`${ROOT}/volumes/${volume}/action`, action))
    await expect.poll(statusOf, poll).toBe('available')
    return (await this.show(volume))?.['volume_type'] === new_type
  }

  /**
   * The body of the first answer that accepts. A store says only in its next report that it has room again: until then gateways
   * refuse, or, where they know less, the cell.
   */
  async #begun<T>(ask: () => Promise<{ readonly status: number; readonly body: T }>): Promise<T> {
    let body: T
    const asked = async () => {
      const answer = await ask()
      body = answer.body
      return answer
    }
    await expect.poll(asked, poll).toMatchObject({ status: 202 })
    return body!
  }

  /** Afterwards it is in that store, and nothing of it is elsewhere. */
  async move(volume: string, store: string): Promise<void> {
    expect(await this.tryMove(volume, store)).toMatchObject({ state: 'done', message: null })
    await this.expectOnlyIn(volume, store)
  }

  /** The operation once it has ended. */
  async tryMove(volume: string, store: string): Promise<Operation> {
    const path = `/federation/v1/volumes/${volume}/move`
    for (;;) {
      const { id } = await this.#begun(() => this.admin.post<Operation>(path, { store }))
      const ended = await endOfOperation(this.admin, id, MOVE_MS)
      if (ended.message?.includes(NO_ROOM) !== true) return ended
    }
  }

  async expectOnlyIn(volume: string, store: string): Promise<void> {
    expect(await this.show(volume)).toMatchObject({ status: 'available', size: 1 })
    for (const [each, content] of this.#contents) {
      const names = async () => (await content.names()).filter((name) => name.includes(volume))
      await expect.poll(async () => (await names()).length, poll).toBe(each === store ? 1 : 0)
    }
  }

  /** The volume in this store has every byte of the image, and no more. */
  async expectContent(image: WrittenImage, volume: string, store: string): Promise<void> {
    await expectSameContent(image, await this.contentOf(store).diskOf({ volume }))
  }

  contentOf(store: string): StoreDisks {
    const content = this.#contents.get(store)
    if (content === undefined) throw new Error(`The cloud has no store ${store}`)
    return content
  }

  /** The volumes of which the cell has keys. */
  async keys(): Promise<readonly string[]> {
    await using db = new Database({ url: this.cloud.cells[0]!.databaseUrl, connectionsMax: 1 })
    const [rows] = await db.orm.execute('select volume_id from volume_keys')
    return (rows as unknown as { volume_id: string }[]).map((row) => row.volume_id)
  }

  /** Why the last change of the volume failed, as operators see it. */
  async faultOf(volume: string): Promise<string | null> {
    const path = `/federation/v1/volumes/${volume}/trace`
    return (await this.admin.get<{ fault: string | null }>(path)).body.fault
  }

  /** The folders in which hosts keep copies that are on their way. */
  copyFolders(): readonly string[] {
    return this.#hosts
      .map(({ name }) => join(this.cloud.foundation.directory, name, 'volume-copies'))
      .filter((folder) => existsSync(folder))
  }

  async expectNoCopies(): Promise<void> {
    for (const folder of this.copyFolders())
      await expect.poll(() => readdir(folder), poll).toEqual([])
  }

  async expectNothingLeft(): Promise<void> {
    for (const content of this.#contents.values())
      await expect.poll(() => content.names(), poll).toEqual([])
    await this.expectNoCopies()
    await expectInvariants(this.cloud)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#all?.disposeAsync()
  }
}
