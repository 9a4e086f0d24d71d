import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { LRUCache } from 'lru-cache'
import { newId } from '#common/ids.ts'
import { untilSignal } from '#common/until-signal.ts'
import { DUMMY_HASH, verifyPassword } from '#gateway/app/identity/password-hash.ts'
import { applyFeed } from './feed.ts'
import { env, openBus, openDatabase } from './parts.ts'
import { READ_SQL } from './reads.ts'
import { GATEWAY_SQL } from './sql.ts'

// The least a gateway could do with the same libraries: check a token, run the same SQL, send the same bytes; for a
// boot, the same number of commits and the same hops. What the product does beyond this is what the ratios show.
const PROJECT = 'floor'
const HOUR_MS = 3_600_000
const TIMEOUT_MS = 30_000
const db = openDatabase('DATABASE_URL')
const reads = openDatabase('READ_DATABASE_URL')
const nats = await openBus('gateway')
const readProject = env.text('READ_PROJECT')
const tokens = new LRUCache<string, { readonly until: number }>({ max: 10_000 })
const bodies = JSON.parse(readFileSync(env.text('BODIES_FILE'), 'utf8')) as {
  readonly one: object
  readonly hundred: object
  readonly token: object
}

const app = new Hono()

app.get('/ready', (c) => c.body(null, 200))

app.post('/tokens', async (c) => {
  const { password } = await c.req.json<{ readonly password: string }>()
  await verifyPassword(password, DUMMY_HASH, { peer: 'bench', account: 'bench' })
  const token = randomBytes(32).toString('base64url')
  const id = digest(token)
  await db.run(GATEWAY_SQL.insertToken, { id, project: PROJECT })
  tokens.set(id, { until: Date.now() + HOUR_MS })
  return c.json(bodies.token, 201, { 'x-subject-token': token })
})

app.use('/servers/*', async (c, next) => {
  const token = tokens.get(digest(c.req.header('x-auth-token') ?? ''))
  if (token === undefined || token.until < Date.now()) return c.json({ error: 'unauthorized' }, 401)
  return next()
})

app.get('/servers/detail', async (c) => {
  await reads.rows(READ_SQL.hundred, { project: readProject, limit: '100' })
  return c.json(bodies.hundred)
})

app.get('/servers/:id', async (c) => {
  await reads.rows(READ_SQL.one, { id: c.req.param('id') })
  return c.json(bodies.one)
})

app.post('/servers', async (c) => {
  const body = await c.req.json<unknown>()
  const id = newId<string>()
  await db.transaction(async (tx) => {
    await tx.run(GATEWAY_SQL.insertMapping, { id, project: PROJECT })
    await tx.run(GATEWAY_SQL.insertServer, { id, project: PROJECT, doc: body, state: 'building' })
    await tx.run(GATEWAY_SQL.charge, { project: PROJECT })
  })
  void finishBoot(id, body)
  return c.json({ server: { id } }, 202)
})

app.delete('/servers/:id', async (c) => {
  const id = c.req.param('id')
  await db.run(GATEWAY_SQL.markDeleting, { id })
  await nats.request('floor.delete', JSON.stringify({ id }), { timeout: TIMEOUT_MS })
  return c.body(null, 204)
})

async function finishBoot(id: string, body: unknown): Promise<void> {
  await nats.request('floor.build', JSON.stringify({ id, body }), { timeout: TIMEOUT_MS })
  await db.run(GATEWAY_SQL.setSpawning, { id })
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

applyFeed(nats, db, PROJECT)
const port = env.integer('PORT', 0)
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' })
await untilSignal()
server.close()
await nats.close()
await Promise.all([db[Symbol.asyncDispose](), reads[Symbol.asyncDispose]()])
