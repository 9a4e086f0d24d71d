import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  activeServer,
  deleteServer,
  SERVERS,
  showServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { isFullRun } from '../env/full-run.ts'
import { rejoin } from '../env/rejoin.ts'

// Goal: a server of a cell that was declared lost never runs beside its replacement. Method: real processes, whose guests
// survive them; the cell returns with its old state and with a new credential.

const NORTH = '/federation/v1/cells/north'
const LIMIT_MS = 30_000

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ processesPerCell: 1, hostsPerCell: 1 })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const declareLost = (client = admin, headers: Readonly<Record<string, string>> = {}) =>
  client.call('POST', `${NORTH}/lost`, { statement: 'The power of its rack was cut.' }, { headers })
const north = async () => (await admin.get<Loose>(NORTH)).body

test.runIf(isFullRun)(
  'a lost cell that comes back keeps no guest that is no longer its own',
  async () => {
    const lost = cloud.cell('north')
    const [cellProcess] = lost.processes
    const [host] = lost.computes
    const inNorth = { availability_zone: 'north' }
    const ran = await activeServer(cloud, demo, inNorth)
    const unwanted = await activeServer(cloud, demo, inNorth)
    const elsewhere = await activeServer(cloud, demo, { availability_zone: 'south' })
    expect(await declareLost()).toMatchObject({ status: 409 })
    expect((await declareLost(demo)).status).toBe(403)

    expect((await host!.guests()).toSorted()).toEqual([ran.id, unwanted.id].toSorted())
    await cellProcess!.kill()
    await host!.process.kill()
    await waitFor(
      'the cell to be unreachable',
      async () => (await north())['is_alive'] === false,
      LIMIT_MS,
    )
    expect((await demo.delete(`${SERVERS}/${unwanted.id}`)).status).toBe(204)
    expect((await admin.post(`${NORTH}/lost`, {})).status).toBe(400)
    const once = { 'idempotency-key': 'given-up' }
    const declared = await declareLost(admin, once)
    expect(declared).toMatchObject({
      status: 202,
      body: { is_alive: false, loss: { statement: 'The power of its rack was cut.' } },
    })
    expect((await declareLost()).status).toBe(409)
    expect((await declareLost(admin, { ...once, 'if-match': '"as-it-was"' })).status).toBe(202)

    await waitFor(
      'its servers to be taken from it',
      async () => (await showServer(demo, ran.id)).status === 'ERROR',
      LIMIT_MS,
    )
    await untilGone(demo, unwanted.id)
    expect((await showServer(demo, ran.id)).fault?.message).toContain('was lost')
    expect((await showServer(demo, elsewhere.id)).status).toBe('ACTIVE')

    // Its owner has it rebuilt: nowhere as long as its zone is lost, and there once it is back.
    const rebuilt = { rebuild: { imageRef: cloud.catalog.image } }
    expect((await demo.post(`${SERVERS}/${ran.id}/action`, rebuilt)).status).toBe(202)
    await waitFor(
      'no cell to be found for it',
      async () => (await showServer(demo, ran.id)).fault?.message.includes('AliveFilter'),
      LIMIT_MS,
    )

    const ofCell = cellProcess!.setting('CELL_NATS_CREDENTIALS_FILE')
    await rejoin(admin, { cell: 'north' }, ofCell)
    const ofHost = host!.process.setting('COMPUTE_NATS_CREDENTIALS_FILE')
    await rejoin(admin, { cell: 'north', host: host!.name }, ofHost)
    await cellProcess!.start()
    await waitFor(
      'a heartbeat of the cell, which is not served',
      async () => (await north())['last_heard_at'] !== declared.body['last_heard_at'],
      LIMIT_MS,
    )
    expect(await north()).toMatchObject({ is_alive: false, loss: { by: expect.any(String) } })
    await host!.process.start()
    await waitFor('the cell to serve', async () => (await north())['is_alive'] === true, LIMIT_MS)
    expect(await host!.guests()).toEqual([])
    expect(await north()).toMatchObject({ loss: null })
    expect((await showServer(demo, ran.id)).status).toBe('ERROR')
    // Any of the gateways may be the one that chooses.
    await cloud.waitUntilWhole()
    expect((await demo.post(`${SERVERS}/${ran.id}/action`, rebuilt)).status).toBe(202)
    expect((await showServer(demo, ran.id)).status).not.toBe('ERROR')
    await untilStatus(demo, ran.id, 'ACTIVE')
    expect(await host!.guests()).toEqual([ran.id])
    await expectInvariants(cloud)
    await deleteServer(demo, ran.id)
    await cloud.waitUntilWhole()
    const { id } = await activeServer(cloud, demo, inNorth)
    await untilStatus(demo, id, 'ACTIVE')
    await expectInvariants(cloud)
  },
)
