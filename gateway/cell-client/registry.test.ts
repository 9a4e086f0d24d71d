import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectBus } from '#common/bus/connect.ts'
import { systemClock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { startNats, stopNats } from '#deploy/nats.ts'
import { DeliveryProbe } from '#test/env/delivery-probe.ts'
import { freshBus } from '#test/env/fresh-bus.ts'
import { ScriptedCell } from '#test/env/scripted-cell.ts'
import { CellRegistry } from './registry.ts'

const log = createLogger('test', 'error')
const LIMIT_MS = 30_000

test('a gateway that begins to listen while the bus exchanges its account hears the cells', async () => {
  await using parts = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'registry-'))
  parts.defer(() => rm(directory, { recursive: true }))
  const { url: natsUrl, keys: natsKeys } = await startNats(directory, 'with-parent')
  parts.defer(() => stopNats(directory))
  const id = newId<CellId>()
  const bus = parts.use(await freshBus([id], { directory, natsUrl, natsKeys }))
  parts.use(await ScriptedCell.open(bus, id, 'north'))
  const credentialsFile = await bus.gatewayCredentialsFile()
  const nats = await connectBus({ url: bus.url, credentialsFile, name: 'gateway' }, log)
  parts.defer(() => nats.close())
  const probe = parts.use(await DeliveryProbe.open(bus, id))
  const mapping = { id, name: 'north', is_disabled: 0, weight: 1, lost_at: null }
  const db = { rows: () => Promise.resolve([mapping]) } as unknown as Executor

  await bus.repeatSlowly()
  await probe.untilDeaf()
  const options = { db, nats, clock: systemClock, log, deadlineMs: 3_000 }
  const registry = parts.use(await CellRegistry.open(options))
  await nats.flush()
  await probe.untilHearing()

  await waitFor('the heartbeat of the cell', () => registry.cell(id)?.isReachable, LIMIT_MS)
  expect(registry.cell(id)).toMatchObject({ name: 'north', sendsHeartbeats: true })
})
