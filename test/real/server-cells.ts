import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { Database } from '#common/db/database.ts'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import { serverProtections } from '#gateway/db/schema/protections.ts'
import type { ApiClient } from '../env/api/client.ts'
import { endOfOperation, type Operation } from '../env/api/operations.ts'
import { act, SERVERS, showServer, untilSettled, untilStatus } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import type { DrivenHost } from '../env/driven-host.ts'
import { rejoin } from '../env/rejoin.ts'

const ROOT = '/federation/v1'

interface Protection {
  readonly last_image_id: string | null
  readonly replica: { readonly image_id: string | null; readonly error: string | null } | null
}

/** A cell's one host, and the disks of its servers, which are read and written while these are off. */
export interface Site {
  /** Of the cell. */
  readonly name: string
  readonly host: DrivenHost
  /** Afterwards the disk has this byte somewhere that its image has not. */
  mark(id: string, byte: number): Promise<void>
  isMarked(id: string, byte: number): Promise<boolean>
  /** Afterwards what runs the servers has ended, as far as that is the host's own. */
  end(): Promise<void>
}

export interface StartedCells {
  readonly cloud: Cloud
  readonly cells: ServerCells
  /** For what hosts have on disk. */
  readonly folder: string
}

/** A cloud with so many cells, still without hosts, until `owned` is disposed of. `settings`: more of every cell. */
export async function startServerCells(
  owned: AsyncDisposableStack,
  count: number,
  limitMs: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<StartedCells> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-sc-'))
  owned.defer(() => rmSync(folder, { recursive: true, force: true }))
  const size = { gateways: 1, cells: count, processesPerCell: 1, hostsPerCell: 0 }
  const cell = { CELL_IMAGE_CACHE_DIRECTORY: join(folder, 'cache'), ...settings }
  const cloud = owned.use(await startCloud({ ...size, cell }))
  return { cloud, cells: new ServerCells(cloud, limitMs), folder }
}

/** What tests do with servers of cells of one host each. */
export class ServerCells {
  readonly demo: ApiClient
  readonly admin: ApiClient
  readonly #cloud: Cloud
  readonly #limitMs: number

  constructor(cloud: Cloud, limitMs: number) {
    this.#cloud = cloud
    this.#limitMs = limitMs
    this.demo = cloud.as('demo')
    this.admin = cloud.as('admin')
  }

  waitFor<T>(what: string, probe: () => Promise<T>) {
    return waitForWithin(what, probe, this.#limitMs)
  }

  async upload(name: string, format: object, raw: Buffer): Promise<string> {
    const draft = { name, ...format }
    const { status, body } = await this.demo.post<{ id: string }>('/image/v2/images', draft)
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
    await this.demo.call('PUT', `/image/v2/images/${body.id}/file`, undefined, {
      raw,
      headers: { 'content-type': 'application/octet-stream' },
    })
    return body.id
  }

  hostOf = async (id: string) => (await showServer(this.admin, id))['OS-EXT-SRV-ATTR:host']

  /** A server of the cell that is off, with the byte on its disk; bound to no zone. */
  async markedServer(
    site: Pick<Site, 'name' | 'mark'>,
    request: object,
    byte: number,
  ): Promise<string> {
    const server = {
      ...{ networks: 'none', flavorRef: this.#cloud.catalog.tiny },
      ...{ availability_zone: site.name, ...request },
    }
    const asked = await this.demo.post<{ server: { id: string } }>(
      SERVERS,
      { server },
      { version: '2.37' },
    )
    if (asked.status !== 202) throw new Error(`${asked.status}: ${JSON.stringify(asked.body)}`)
    const { id } = await this.until(asked.body.server.id, 'ACTIVE')
    const free = { server: { pinned_availability_zone: null } }
    await this.demo.put(`${SERVERS}/${id}`, free, { version: '2.104' })
    await this.off(id)
    await site.mark(id, byte)
    return id
  }

  until(id: string, status: string) {
    return untilStatus(this.demo, id, status, this.#limitMs)
  }

  async off(id: string): Promise<void> {
    await act(this.demo, id, { 'os-stop': null })
    await this.until(id, 'SHUTOFF')
  }

  async on(id: string): Promise<void> {
    await act(this.demo, id, { 'os-start': null })
    await this.until(id, 'ACTIVE')
  }

  /** Whether the server runs there, with the byte on its disk, once it has been stopped to look. */
  async runsMarked(site: Site, id: string, byte: number): Promise<boolean> {
    await this.until(id, 'ACTIVE')
    const isThere = (await this.hostOf(id)) === site.host.name
    await this.off(id)
    return isThere && (await site.isMarked(id, byte))
  }

  /** The operation that has moved it, at its end. */
  async move(id: string, to: Site): Promise<Operation> {
    const path = `${ROOT}/servers/${id}/move`
    const { status, body } = await this.admin.post<Operation>(path, { cell: to.name })
    if (status !== 202) throw new Error(`${status}: ${JSON.stringify(body)}`)
    return endOfOperation(this.admin, body.id, this.#limitMs)
  }

  /** How a move to the cell, and a protection at it, are answered. */
  async refusals(id: string, cell: string): Promise<readonly (readonly [number, string])[]> {
    const move = await this.admin.post(`${ROOT}/servers/${id}/move`, { cell })
    const schedule = { every_s: 3600, keep: 2, to_cell: cell }
    const protection = await this.admin.put(`${ROOT}/servers/${id}/protection`, schedule)
    return [move, protection].map(({ status, body }) => [status, JSON.stringify(body)] as const)
  }

  /** Afterwards the other cell keeps a backup, made since, whose image this is. */
  async protectAt(id: string, to: Site): Promise<string> {
    const path = `${ROOT}/servers/${id}/protection`
    const schedule = { every_s: 3600, keep: 2, to_cell: to.name }
    const { status, body } = await this.admin.put(path, schedule)
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`)
    return this.#replicated(id, null)
  }

  /** Afterwards the other cell keeps a newer backup than that. */
  async backUpAgain(id: string, former: string): Promise<string> {
    {
      // As when the time of the schedule has passed.
      const url = this.#cloud.foundation.databaseUrl
      await using db = new Database({ url, connectionsMax: 1 })
      await db.orm
        .update(serverProtections)
        .set({ nextAt: sql`now(3)` })
        .where(eq(serverProtections.serverId, id))
    }
    return this.#replicated(id, former)
  }

  /** A server of the cell that is off, with the byte on its disk and in the newer of two backups that the other cell had. */
  async backedUpServer(site: Site, to: Site, request: object, byte: number): Promise<string> {
    const id = await this.markedServer(site, request, 0x5a)
    const first = await this.protectAt(id, to)
    await site.mark(id, byte)
    const newest = await this.backUpAgain(id, first)
    if (newest === first) throw new Error(`Server ${id} has no newer backup`)
    return id
  }

  async #replicated(id: string, former: string | null): Promise<string> {
    const imageId = await this.waitFor('the replica', async () => {
      const path = `${ROOT}/servers/${id}/protection`
      const { last_image_id, replica } = (await this.demo.get<Protection>(path)).body
      const isNewest = last_image_id !== former && replica?.image_id === last_image_id
      return isNewest && replica?.error === null ? last_image_id : undefined
    })
    await untilSettled(this.#cloud, id)
    return imageId
  }

  /** Afterwards the cell has ended and was declared lost, and its servers are in none. */
  async lose(site: Site, ids: readonly string[]): Promise<void> {
    await site.host.stop()
    await site.end()
    for (const process of this.#cloud.cell(site.name).processes) await process.kill()
    const path = `${ROOT}/cells/${site.name}`
    await this.waitFor('the cell to be unreachable', async () => {
      return (await this.admin.get<{ is_alive: boolean }>(path)).body.is_alive === false
    })
    await this.admin.post(`${path}/lost`, { statement: 'Its power was cut.' })
    for (const id of ids) await this.until(id, 'ERROR')
  }

  /** The recovery of the cell, at its end. */
  async recover(site: Site): Promise<Operation> {
    const { body } = await this.admin.post<Operation>(`${ROOT}/cells/${site.name}/recovery`, {})
    return endOfOperation(this.admin, body.id, this.#limitMs)
  }
  /** Afterwards the lost cell, which has joined again with all that it had on disk, serves. */
  async comeBack({ name, host }: Site): Promise<void> {
    for (const process of this.#cloud.cell(name).processes) {
      const file = process.setting('CELL_NATS_CREDENTIALS_FILE')
      await rejoin(this.admin, { cell: name }, file)
      await process.start()
    }
    await rejoin(this.admin, { cell: name, host: host.name }, host.credentialsFile)
    await host.start()
    await this.waitFor('the cell to serve', async () => {
      const { body } = await this.admin.get<{ is_alive: boolean }>(`${ROOT}/cells/${name}`)
      return body.is_alive
    })
  }
}
