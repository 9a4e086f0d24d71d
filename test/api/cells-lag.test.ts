import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

// Goal: what one gateway was told of cells and policies counts for the next request, at whichever gateway.

const NORTH = '/federation/v1/cells/north'
const POLICIES = '/federation/v1/placement-policies'
const ROUNDS = 3

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ cells: 2, hostsPerCell: 1, gateways: 2 })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
  await waitFor('the gateways to know each other', knowOther, 30_000)
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

async function knowOther(): Promise<boolean> {
  const { body } = await admin.get<{ checks: readonly { kind: string; status: string }[] }>(
    '/federation/v1/health',
    { gateway: 0 },
  )
  return (
    body.checks.filter(({ kind, status }) => kind === 'gateway' && status === 'ok').length === 2
  )
}

const setNorth = async (change: object) =>
  expect((await admin.call('PATCH', NORTH, change, { gateway: 0 })).status).toBe(200)
/** Where the other gateway would have a server built. */
async function chosenAtOther(zone?: string): Promise<string | null> {
  const { image, tiny } = cloud.catalog
  const asked = { flavor: tiny, image, project: 'demo', ...(zone !== undefined && { zone }) }
  const answer = await admin.post<{ cell: string | null }>('/federation/v1/placements', asked, {
    gateway: 1,
  })
  return answer.body.cell
}

test('a cell that is disabled or enabled at one gateway is so at the other', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await setNorth({ is_enabled: false })
    expect(await chosenAtOther('north')).toBeNull()

    await setNorth({ is_enabled: true })
    const zone = { availability_zone: 'north' }
    const id = await createServer(cloud, demo, zone, { gateway: 1 })
    await untilStatus(demo, id, 'ACTIVE')
    await deleteServer(demo, id)
  }
})

test('a placement policy that is made, changed or deleted at one gateway is so at the other', async () => {
  await setNorth({ taints: [{ key: 'dedicated', value: '', effect: 'NoSchedule' }] })
  for (let round = 0; round < ROUNDS; round += 1) {
    expect(await chosenAtOther('north')).toBeNull()
    const policy = { name: 'mine', projects: ['demo'], tolerations: [{ key: 'dedicated' }] }
    expect((await admin.post(POLICIES, policy, { gateway: 0 })).status).toBe(201)
    expect(await chosenAtOther('north')).toBe('north')

    const change = { tolerations: [] }
    await admin.call('PATCH', `${POLICIES}/mine`, change, { gateway: 0 })
    expect(await chosenAtOther('north')).toBeNull()
    expect((await admin.delete(`${POLICIES}/mine`, { gateway: 0 })).status).toBe(204)
  }
  await setNorth({ taints: [] })
})

test('a gateway that does not answer holds up no change', async () => {
  await using frozen = await startCloud({
    cells: 1,
    hostsPerCell: 1,
    gateways: 2,
    outside: ['gateway'],
  })
  const operator = frozen.as('admin')
  frozen.gateways[1]!.suspend()
  frozen.forget(1)
  const { status } = await operator.call('PATCH', NORTH, { is_enabled: false }, { gateway: 0 })
  expect(status).toBe(200)
  frozen.gateways[1]!.resume()
})
