import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation, untilOperation } from '#test/env/api/operations.ts'
import { createServer, deleteServer, showServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: a drain and an evacuation go on where they were when every gateway is killed, and move each server once.

const ROOT = '/federation/v1'
const SERVERS = 10
const LIMIT_MS = 120_000
const TEST_MS = 300_000

describe.skipIf(!isFullRun)('with its only gateway killed midway (only in the long run)', () => {
  let cloud: Cloud
  let demo: ApiClient
  let admin: ApiClient

  beforeAll(async () => {
    cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 2 })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
  }, TEST_MS)
  afterAll(() => cloud?.[Symbol.asyncDispose](), TEST_MS)

  const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']
  const cordon = (nth: number, is_cordoned: boolean) =>
    admin.call('PATCH', `${ROOT}/hosts/${cloud.hosts[nth]!.id}`, { is_cordoned })

  /** All on the first host. */
  async function serversOnFirst(): Promise<readonly string[]> {
    await cordon(1, true)
    const ids = await Promise.all(
      Array.from({ length: SERVERS }, () => createServer(cloud, demo, {})),
    )
    for (const id of ids) await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
    await cordon(1, false)
    return ids
  }

  const movedOf = ({ moves = [] }: Operation) => moves.filter(({ state }) => state === 'moved')

  /** The operation at its end; the gateway was killed once some had moved, and others had not. */
  async function killedMidway(begun: Operation): Promise<Operation> {
    const seen = await untilOperation(admin, begun.id, (it) => movedOf(it).length >= 2, LIMIT_MS)
    expect(seen.state).toBe('running')
    const [gateway] = cloud.gateways
    await gateway!.kill()
    await gateway!.start()
    return endOfOperation(admin, begun.id, LIMIT_MS)
  }

  async function expectMovedOnce(ids: readonly string[], operation: Operation): Promise<void> {
    expect(operation).toMatchObject({ state: 'done', remaining: 0 })
    expect(new Set(movedOf(operation).map(({ server_id }) => server_id))).toEqual(new Set(ids))
    const [, other] = cloud.hosts
    for (const id of ids) {
      await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
      expect(await hostOf(id)).toBe(other!.name)
    }
    expect(new Set(await other!.guests())).toEqual(new Set(ids))
  }

  test('a drain goes on with the servers that are left', { timeout: TEST_MS }, async () => {
    const ids = await serversOnFirst()
    const [first] = cloud.hosts

    const { body } = await admin.post<Operation>(`${ROOT}/hosts/${first!.id}/drain`, {
      parallel: 1,
    })
    await expectMovedOnce(ids, await killedMidway(body))

    expect(await first!.guests()).toEqual([])
    for (const id of ids) await deleteServer(demo, id)
    await cordon(0, false)
    await expectInvariants(cloud, LIMIT_MS)
  })

  test('an evacuation goes on with the servers that are left', { timeout: TEST_MS }, async () => {
    const ids = await serversOnFirst()
    const [first] = cloud.hosts
    await first!.process.kill()
    const path = `${ROOT}/hosts/${first!.id}`
    await expect
      .poll(async () => (await admin.get<{ is_up: boolean }>(path)).body.is_up, {
        timeout: LIMIT_MS,
      })
      .toBe(false)

    const { body } = await admin.post<Operation>(`${path}/drain`, { evacuate: true, parallel: 1 })
    await expectMovedOnce(ids, await killedMidway(body))

    await first!.process.start()
    await expect.poll(() => first!.guests(), { timeout: LIMIT_MS }).toEqual([])
    for (const id of ids) await deleteServer(demo, id)
    await expectInvariants(cloud, LIMIT_MS)
  })
})
