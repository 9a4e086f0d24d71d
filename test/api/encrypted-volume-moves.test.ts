import { beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { secretsOf } from '#common/secrets.ts'
import type { Operation } from '#test/env/api/operations.ts'
import { activeServer, deleteServer, SERVERS, unboundServer } from '#test/env/api/servers.ts'
import type { CloudCell } from '#test/env/cloud.ts'
import { findTexts } from '#test/env/database-text.ts'
import { isFullRun } from '#test/env/full-run.ts'
import {
  admin,
  type Body,
  cloud,
  demo,
  ended,
  FEDERATION,
  north,
  ROOT,
  show,
  south,
  untilVolume,
  useTwoStores,
  waitFor,
} from './volume-cells.ts'

// Goal: an encrypted volume opens in another cell with the key that it had. The gateway never learns that key, and the former
// cell forgets it. The short path is in volume-cell-moves.test.ts. Simulated hosts refuse to open a volume with another key.

describe.skipIf(!isFullRun)('encrypted volumes', () => {
  useTwoStores()
  beforeAll(async () => {
    const { body } = await admin.post(`${ROOT}/types`, { volume_type: { name: 'sealed' } })
    const path = `${ROOT}/types/${(body['volume_type'] as Body).id}/encryption`
    const encryption = { provider: 'luks', control_location: 'front-end', key_size: 256 }
    expect((await admin.post(path, { encryption })).status).toBe(200)
  })

  async function volume(): Promise<string> {
    const asked = { size: 2, volume_type: 'sealed', availability_zone: north.name }
    const { body } = await demo.post(`${ROOT}/volumes`, { volume: asked })
    const { id } = body['volume'] as Body
    await untilVolume(id, 'available')
    return id
  }

  /** The keys of the volume that the cell has, opened. */
  async function keysIn({ name }: CloudCell, id: string): Promise<readonly string[]> {
    const { databaseUrl, secretKey } = cloud.foundation.cells.find((each) => each.name === name)!
    await using db = new Database({ url: databaseUrl, connectionsMax: 1 })
    const [rows] = await db.orm.execute(`select sealed from volume_keys where volume_id = '${id}'`)
    const secrets = secretsOf(secretKey)
    return (rows as unknown as { sealed: string }[]).map(({ sealed }) =>
      secrets.open(sealed, `key of volume ${id}`),
    )
  }

  async function moved(path: string, to: CloudCell): Promise<Operation> {
    const { status, body } = await admin.post<Operation>(`${FEDERATION}/${path}/move`, {
      cell: to.name,
    })
    expect(status, JSON.stringify(body)).toBe(202)
    return ended(body.id)
  }

  async function expectKeyIn(cell: CloudCell, id: string, key: string): Promise<void> {
    const other = cell === north ? south : north
    expect(await keysIn(cell, id)).toEqual([key])
    await waitFor('no key there', async () => (await keysIn(other, id)).length === 0)
    const { databaseUrl, cells } = cloud.foundation
    for (const url of [databaseUrl, ...cells.map((each) => each.databaseUrl)])
      expect(await findTexts(url, [key])).toEqual([])
  }

  test('an encrypted volume opens in another cell with its key, which only the two cells have known', async () => {
    const id = await volume()
    const [key = ''] = await keysIn(north, id)
    expect(key).toMatch(/^[0-9a-f]{64}$/)

    expect(await moved(`volumes/${id}`, south)).toMatchObject({ state: 'done', message: null })

    await expectKeyIn(south, id, key)
    expect(await show(id)).toMatchObject({ status: 'available', encrypted: true })
    const server = await activeServer(cloud, demo, { availability_zone: south.name })
    const attachments = `${SERVERS}/${server.id}/os-volume_attachments`
    await demo.post(attachments, { volumeAttachment: { volumeId: id } })
    await untilVolume(id, 'in-use')
    await deleteServer(demo, server.id)
    await untilVolume(id, 'available')
  })

  test('where the other cell cannot make it, the volume keeps its key, and the other has none', async () => {
    const id = await volume()
    const [key = ''] = await keysIn(north, id)
    for (const host of south.computes)
      host.fail({ method: 'createVolume', effect: { do: 'fail', kind: 'internal', message: 'no' } })

    expect(await moved(`volumes/${id}`, south)).toMatchObject({ state: 'failed' })

    await expectKeyIn(north, id, key)
  })

  test('a server takes its encrypted volume along, and has it there', async () => {
    const id = await volume()
    const [key = ''] = await keysIn(north, id)
    const server = await unboundServer(cloud, demo, north.name)
    const attachments = `${SERVERS}/${server.id}/os-volume_attachments`
    await demo.post(attachments, { volumeAttachment: { volumeId: id } })
    await untilVolume(id, 'in-use')

    expect(await moved(`servers/${server.id}`, south)).toMatchObject({ state: 'done' })

    await expectKeyIn(south, id, key)
    expect(await show(id)).toMatchObject({ status: 'in-use', availability_zone: south.name })
    await deleteServer(demo, server.id)
    await untilVolume(id, 'available')
  })
})
