import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import { serverProtections, serverReplicas } from '#gateway/db/schema/protections.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation } from '#test/env/api/operations.ts'
import {
  act,
  deleteServer,
  showServer,
  unboundServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { CountingWire } from '#test/env/counting-wire.ts'
import { addFetchingHost, hostsUp } from '#test/env/fetching-host.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: the newest backup of a protected server is at another cell too, stays there, and is what a recovery and a move go to.

interface Replica {
  readonly cell: string | null
  readonly image_id: string | null
  readonly made_at: string | null
  readonly error: string | null
}
interface Protection {
  readonly last_image_id: string | null
  readonly replica: Replica | null
}

const MIB = 2 ** 20
const CELLS = ['north', 'south', 'east'] as const
const owned = new AsyncDisposableStack()
const hosts = new Map<string, AsyncDisposable>()
/** Of the hosts, also of one that has stopped. */
const ids = new Map<string, string>()
let cloud: Cloud
let db: Database
let admin: ApiClient
let demo: ApiClient
let cacheFolder: string
/** Between hosts and the gateways. */
let hostLink: CountingWire

beforeAll(async () => {
  cacheFolder = mkdtempSync(join(tmpdir(), 'weir-replicas-'))
  owned.defer(() => rmSync(cacheFolder, { recursive: true, force: true }))
  hostLink = owned.use(await CountingWire.open())
  const cell = {
    CELL_IMAGE_CACHE_DIRECTORY: cacheFolder,
    CELL_IMAGE_CACHE_BYTES_MAX: String(5 * MIB),
  }
  const size = { gateways: 1, cells: 4, processesPerCell: 1, hostsPerCell: 0 }
  cloud = owned.use(await startCloud({ ...size, cell }))
  db = owned.use(new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 2 }))
  hostLink.to = cloud.endpoints[0]
  for (const name of CELLS) await startHost(name)
  admin = cloud.as('admin')
  demo = cloud.as('demo')
  await waitFor('all hosts to be up', async () => (await hostsUp(cloud)) === CELLS.length)
})
afterAll(async () => {
  for (const host of hosts.values()) await host[Symbol.asyncDispose]()
  await owned.disposeAsync()
})

const waitFor = <T>(what: string, probe: () => Promise<T>) => waitForWithin(what, probe, 60_000)
const path = (id: string) => `/federation/v1/servers/${id}/protection`
const protect = (client: ApiClient, id: string, to: string | null) =>
  client.put<Protection & { message?: string }>(path(id), { every_s: 3600, keep: 2, to_cell: to })
const shown = async (id: string) => (await demo.get<Protection>(path(id))).body
const northern = async (name: string) => (await unboundServer(cloud, demo, 'north', { name })).id
const cached = (cell: string) => readdir(join(cacheFolder, `${cell}-process-1`))
const pinsFor = async (cell: string, id: string) =>
  (await cached(cell)).filter((name) => name.endsWith(`.pin-${id}`))

async function startHost(cell: string): Promise<void> {
  const url = `${hostLink.url}/image`
  const id = ids.get(cell) ?? randomUUID()
  ids.set(cell, id)
  hosts.set(cell, await addFetchingHost(cloud, cloud.cell(cell), cell, url, id))
}

/** As when the time of the schedule has passed. */
const backUp = (id: string) =>
  db.orm
    .update(serverProtections)
    .set({ nextAt: sql`now(3)` })
    .where(eq(serverProtections.serverId, id))
/** As when the time until the next look has passed. */
const lookAgain = (id: string) =>
  db.orm.update(serverReplicas).set({ nextAt: sql`now(3)` }).where(eq(serverReplicas.serverId, id))

/** Resolves once the other cell keeps the newest backup, which is not this one. */
const replicated = (id: string, former: string | null = null) =>
  waitFor('the replica', async () => {
    const { last_image_id, replica } = await shown(id)
    const isNewest = replica?.image_id === last_image_id && last_image_id !== former
    return isNewest && replica?.error === null ? replica : undefined
  })

async function kill(cell: string): Promise<void> {
  await hosts.get(cell)?.[Symbol.asyncDispose]()
  hosts.delete(cell)
  for (const process of cloud.cell(cell).processes) await process.kill()
  await waitFor(`${cell} to be unreachable`, async () => {
    const { body } = await admin.get<{ is_alive: boolean }>(`/federation/v1/cells/${cell}`)
    return body.is_alive === false
  })
}

/** Without a backup elsewhere a server would go there. */
const preferEast = () => admin.call('PATCH', '/federation/v1/cells/east', { weight: 1000 })

/** Has the cell's cache fetch images that fill it. */
async function fill(cell: string): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' }
  const draft = { disk_format: 'raw', container_format: 'bare', hypervisor_type: 'fake' }
  for (let nth = 0; nth < 3; nth += 1) {
    const { body } = await admin.post<{ id: string }>('/image/v2/images', { name: 'f', ...draft })
    const raw = randomBytes(2 * MIB)
    await admin.put(`/image/v2/images/${body.id}/file`, undefined, { raw, headers })
    await waitFor('it to be cached', async () => {
      const answer = await admin.put<{ state: string }>(
        `/federation/v1/images/${body.id}/caches/${cell}`,
      )
      return answer.body.state === 'cached'
    })
  }
}

test('a cell that cannot keep a backup is refused with the reason', async () => {
  const id = await northern('refused')
  const refusal = async (client: ApiClient, cell: string) => {
    const { status, body } = await protect(client, id, cell)
    return [status, JSON.stringify(body)]
  }

  expect(await refusal(admin, 'nowhere')).toEqual([
    400,
    expect.stringContaining('There is no cell nowhere. There are: east, north, south, west.'),
  ])
  expect(await refusal(admin, 'north')).toEqual([
    409,
    expect.stringContaining('the server is in that cell. Name another cell.'),
  ])
  // It has no hosts, so nothing can be built there.
  expect(await refusal(admin, 'west')).toEqual([
    409,
    expect.stringContaining("it has no hypervisor of type 'fake'. Name another cell."),
  ])
  expect(await refusal(demo, 'south')).toEqual([
    403,
    expect.stringContaining('no policy lets users move their servers. Ask an administrator.'),
  ])
  expect((await demo.get(path(id))).status).toBe(404)

  const roaming = { name: 'roaming', is_default: true, users_may_move: true }
  await admin.post('/federation/v1/placement-policies', roaming)
  await waitFor('users to be let', async () => (await protect(demo, id, 'south')).status === 200)
  await admin.delete('/federation/v1/placement-policies/roaming')
  await untilSettled(cloud, id)
  await deleteServer(demo, id)
})

test.skipIf(!isFullRun)(
  'the newest backup is kept at the other cell, whatever else is cached there, until its protection ends',
  async () => {
    const id = await northern('web')
    const { body } = await protect(admin, id, 'south')
    expect(body.replica).toMatchObject({ cell: 'south', image_id: null, made_at: null })
    const first = await replicated(id)
    expect(first.made_at).toMatch(/^20/)
    expect(await pinsFor('south', id)).toHaveLength(1)
    await untilSettled(cloud, id)

    await backUp(id)
    const second = await replicated(id, first.image_id)
    await untilSettled(cloud, id)
    const [pin] = await waitFor('the former to be let go of', async () => {
      const pins = await pinsFor('south', id)
      return pins.length === 1 ? pins : undefined
    })
    const [content = ''] = (pin ?? '').split('.')
    await fill('south')
    expect(await cached('south')).toContain(content)
    const [listed] = await new WeirCommand(cloud, 'demo').json<Protection[]>('server protections')
    expect(listed?.replica).toMatchObject({ cell: 'south', image_id: second.image_id })
    expect((await new WeirCommand(cloud, 'demo').run('server protections')).out).toMatch(
      /REPLICA AGE.*\n.* south /,
    )

    // Lost by the cache, it is fetched again.
    rmSync(join(cacheFolder, 'south-process-1', content))
    await lookAgain(id)
    await waitFor('it to be there again', async () => (await cached('south')).includes(content))

    await protect(admin, id, 'east')
    await replicated(id)
    await waitFor('south to let go', async () => (await pinsFor('south', id)).length === 0)
    expect(await pinsFor('east', id)).toHaveLength(1)
    expect((await demo.delete(path(id))).status).toBe(204)
    await waitFor('east to let go', async () => (await pinsFor('east', id)).length === 0)
    await fill('south')
    expect(await cached('south')).not.toContain(content)
    await deleteServer(demo, id)
  },
  200_000,
)

test.skipIf(!isFullRun)(
  'a cell that is dark keeps what it has; it is said why that is late, and the newest follows',
  async () => {
    const id = await northern('dark')
    await protect(admin, id, 'south')
    const first = await replicated(id)
    await untilSettled(cloud, id)
    await kill('south')

    await backUp(id)
    const late = await waitFor('it to be late', async () => {
      const { replica, last_image_id } = await shown(id)
      return replica?.error != null && last_image_id !== first.image_id ? replica : undefined
    })
    expect(late).toMatchObject({ image_id: first.image_id, made_at: first.made_at })
    expect(late.error).toContain('Cell south does not answer')
    expect((await protect(admin, id, 'south')).status).toBe(503)
    // Its server is deleted meanwhile: the cell lets go of the backup once it is back.
    const gone = await northern('gone')
    await protect(admin, gone, 'east')
    await replicated(gone)
    await untilSettled(cloud, gone)
    await deleteServer(demo, gone)
    await lookAgain(gone)
    await waitFor('east to let go', async () => (await pinsFor('east', gone)).length === 0)

    for (const process of cloud.cell('south').processes) await process.start()
    await startHost('south')
    await lookAgain(id)
    const next = await replicated(id, first.image_id)
    expect(next.image_id).not.toBe(first.image_id)
    await untilSettled(cloud, id)

    // A move prefers the cell, whatever its weight.
    await admin.call('PATCH', '/federation/v1/cells/east', { weight: 1000 })
    const { body: move } = await admin.post<Operation>(`/federation/v1/servers/${id}/move`, {})
    expect(await endOfOperation(admin, move.id)).toMatchObject({ state: 'done' })
    expect((await showServer(admin, id))['OS-EXT-SRV-ATTR:host']).toBe('south')
    await lookAgain(id)
    await waitFor('the replica to be of no use', async () => {
      const { replica } = await shown(id)
      return replica?.error === 'The server itself is in cell south now. Name another cell.'
    })
    expect(await pinsFor('south', id)).toEqual([])
    await deleteServer(demo, id)
  },
  200_000,
)

test('the servers of a lost cell start from the replicas, without the gateways’ store', async () => {
  const kept = await northern('kept')
  await protect(admin, kept, 'south')
  const { image_id: imageId } = await replicated(kept)
  await untilSettled(cloud, kept)
  await kill('north')
  await admin.post('/federation/v1/cells/north/lost', { statement: 'Its power was cut.' })
  await waitFor('it to be taken from the cell', async () => {
    return (await showServer(demo, kept)).status === 'ERROR'
  })
  expect(await new WeirCommand(cloud, 'admin').json('cell recover north --dry-run')).toMatchObject([
    { server_id: kept, image_id: imageId, replica_cell: 'south' },
  ])
  await preferEast()
  // Nothing comes from the gateways any more.
  hostLink.to = undefined

  const { body: begun } = await admin.post<Operation>('/federation/v1/cells/north/recovery', {})

  expect(await endOfOperation(admin, begun.id)).toMatchObject({ state: 'done', remaining: 0 })
  await untilStatus(demo, kept, 'ACTIVE')
  expect((await showServer(admin, kept))['OS-EXT-SRV-ATTR:host']).toBe('south')
  const { body: image } = await demo.get<{ name: string }>(`/image/v2/images/${imageId}`)
  const { output } = (await act(demo, kept, { 'os-getConsoleOutput': {} })).body
  expect(output).toContain(`from image ${image.name}`)
}, 200_000)
