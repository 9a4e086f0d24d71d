import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import type { Fault } from '#drivers/fake/faults.ts'
import { images } from '#gateway/db/schema/image.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation, untilOperation } from '#test/env/api/operations.ts'
import { deleteServer, showServer, unboundServer } from '#test/env/api/servers.ts'
import { type Cloud, type CloudCell, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: a move in two passes ends in one cell with the whole disk, whatever ends in the midst of it.

const LIMIT_MS = 120_000
const TEST_MS = 300_000
const COPYING = 'Its disk is being copied while it runs.'
const FETCHING = 'A host of the other cell fetches the copy of its disk while it runs.'
const SAVING = 'Its disk is being saved.'

describe.skipIf(!isFullRun)('a move in two passes (only in the long run)', () => {
  let cloud: Cloud
  let db: Database
  let demo: ApiClient
  let admin: ApiClient
  let north: CloudCell
  let south: CloudCell

  beforeAll(async () => {
    cloud = await startCloud({ cells: 2, hostsPerCell: 1, gateways: 1 })
    db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
    ;[north, south] = cloud.cells as [CloudCell, CloudCell]
  }, TEST_MS)
  afterEach(async () => {
    for (const host of cloud.hosts) host.fail()
    await expectInvariants(cloud, LIMIT_MS)
  }, TEST_MS)
  afterAll(async () => {
    await db?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  }, TEST_MS)

  const saved = (id: string) => db.orm.select().from(images).where(eq(images.snapshotOf, id))

  /** A server of the north that is being moved to the south, and has come to that message. */
  async function movingUntil(message: string) {
    const { id } = await unboundServer(cloud, demo, north.name, {})
    const path = `/federation/v1/servers/${id}/move`
    const { body } = await admin.post<Operation>(path, { cell: south.name })
    await untilOperation(admin, body.id, (operation) => operation.message === message, LIMIT_MS)
    // The message is there before the cell has heard of the step.
    const task = message === COPYING ? 'image_snapshot' : message === SAVING ? 'shelving' : null
    await expect
      .poll(async () => (await showServer(admin, id))['OS-EXT-STS:task_state'], {
        timeout: LIMIT_MS,
      })
      .toBe(task)
    return { id, operationId: body.id }
  }

  async function expectMoved(
    { id, operationId }: Awaited<ReturnType<typeof movingUntil>>,
    passes: 'one pass' | 'two passes',
  ): Promise<void> {
    const operation = await endOfOperation(admin, operationId, LIMIT_MS)
    expect(operation.state).toBe('done')
    expect(operation.message).toContain(`in ${passes}`)
    expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
    expect(await north.computes[0]!.guests()).not.toContain(id)
    expect(await south.computes[0]!.guests()).toContain(id)
    await expect.poll(() => saved(id), { timeout: LIMIT_MS }).toEqual([])
    await deleteServer(demo, id)
  }

  const hang = (method: Fault['method']): Fault => ({ method, effect: { do: 'hang' } })

  test.each([
    { method: 'beginChanges', message: COPYING },
    { method: 'fetchImage', message: FETCHING },
    { method: 'takeChanges', message: SAVING },
  ] as const)(
    'goes on where it was when its gateway is killed: $message',
    { timeout: TEST_MS },
    async ({ method, message }) => {
      for (const host of cloud.hosts) host.fail(hang(method))
      const move = await movingUntil(message)

      await cloud.gateways[0]!.kill()
      await cloud.gateways[0]!.start()
      for (const host of cloud.hosts) host.fail()

      await expectMoved(move, 'two passes')
    },
  )

  test.each([
    { method: 'beginChanges', message: COPYING },
    { method: 'takeChanges', message: SAVING },
  ] as const)(
    'goes on when the cell and its host are killed: $message',
    { timeout: TEST_MS },
    async ({ method, message }) => {
      const [host] = north.computes
      host!.fail(hang(method))
      const move = await movingUntil(message)

      for (const process of [...north.processes, host!.process]) await process.kill()
      for (const process of [...north.processes, host!.process]) await process.start()
      host!.fail()

      const operation = await endOfOperation(admin, move.operationId, LIMIT_MS)
      // A simulated host forgets what it has noted, so that it has to save the whole disk.
      await expectMoved(move, operation.message!.includes('one pass') ? 'one pass' : 'two passes')
      if (message === SAVING) expect(operation.message).toContain('one pass')
    },
  )

  test('a host that forgets what it has noted saves the whole disk', {
    timeout: TEST_MS,
  }, async () => {
    south.computes[0]!.fail(hang('fetchImage'))
    const move = await movingUntil(FETCHING)
    const { process } = north.computes[0]!
    await process.kill()
    await process.start()
    south.computes[0]!.fail()

    await expectMoved(move, 'one pass')
  })
})
