import type { Msg } from '@nats-io/transport-node'
import { newId } from '#common/ids.ts'
import { untilSignal } from '#common/until-signal.ts'
import { openBus, openDatabase } from './parts.ts'
import { CELL_SQL } from './sql.ts'

// The least a cell could do: claim and record in one commit, ask a host, record the outcome in another.
const HOSTS = 4
const TIMEOUT_MS = 30_000
const db = openDatabase('DATABASE_URL')
const nats = await openBus('cell')
let turn = 0

nats.subscribe('floor.build', {
  queue: 'cell',
  callback: (_error, message) => {
    void build(message)
  },
})
nats.subscribe('floor.delete', {
  queue: 'cell',
  callback: (_error, message) => {
    void destroy(message)
  },
})

async function build(message: Msg): Promise<void> {
  const { id, body } = message.json<{ readonly id: string; readonly body: unknown }>()
  turn = (turn + 1) % HOSTS
  const host = turn
  await db.transaction(async (tx) => {
    await tx.run(CELL_SQL.insertInstance, { id, doc: body })
    await tx.run(CELL_SQL.insertClaim, { id })
    await tx.run(CELL_SQL.useHost, { host })
  })
  message.respond('{}')
  await askHost(id)
  await db.transaction(async (tx) => {
    await tx.run(CELL_SQL.setState, { id, state: 'active' })
    await tx.run(CELL_SQL.insertFeed, { id: newId(), doc: { id, state: 'active' } })
  })
  publish(id, 'active')
}

async function destroy(message: Msg): Promise<void> {
  const { id } = message.json<{ readonly id: string }>()
  await db.run(CELL_SQL.setState, { id, state: 'deleting' })
  message.respond('{}')
  await askHost(id)
  await db.transaction(async (tx) => {
    await tx.run(CELL_SQL.dropClaim, { id })
    await tx.run(CELL_SQL.setState, { id, state: 'deleted' })
    await tx.run(CELL_SQL.insertFeed, { id: newId(), doc: { id, state: 'deleted' } })
  })
  publish(id, 'deleted')
}

async function askHost(id: string): Promise<void> {
  await nats.request('floor.spawn', JSON.stringify({ id }), { timeout: TIMEOUT_MS })
}

function publish(id: string, state: string): void {
  nats.publish('floor.feed', JSON.stringify([{ id, state }]))
}

await untilSignal()
await nats.close()
await db[Symbol.asyncDispose]()
