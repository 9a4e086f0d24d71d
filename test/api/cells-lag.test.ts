import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

// Goal: what one gateway was told of a cell counts for the next request, at whichever gateway.

const NORTH = '/federation/v1/cells/north'

let cloud: Cloud
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ cells: 2, hostsPerCell: 1, gateways: 2 })
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

test('a cell that was just enabled takes a server at another gateway', async () => {
  const { image, tiny } = cloud.catalog
  const asked = { flavor: tiny, image, zone: 'north' }
  const enable = (isEnabled: boolean) =>
    admin.call('PATCH', NORTH, { is_enabled: isEnabled }, { gateway: 0 })
  const chosenAt = async (gateway: number) =>
    (await admin.post<{ cell: string | null }>('/federation/v1/placements', asked, { gateway }))
      .body.cell
  for (let nth = 0; nth < 3; nth += 1) {
    await enable(false)
    await waitFor('the other gateway to know', async () => (await chosenAt(1)) === null, 30_000)

    expect((await enable(true)).status).toBe(200)

    const zone = { availability_zone: 'north' }
    const id = await createServer(cloud, cloud.as('demo'), zone, { gateway: 1 })
    await untilStatus(cloud.as('demo'), id, 'ACTIVE')
    await deleteServer(cloud.as('demo'), id)
  }
})
